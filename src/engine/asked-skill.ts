/** `/skill NAME TEXT` in front of a message: it is asked with the instructions of that skill. */
import { asCode } from "../lib/text/sanitize.ts";

import type { InboundMessage, Notice } from "../ports/message.ts";

/**
 * The message with its skill, as it is to be kept; or why it can't be. Without `/skill` in front it is as it was. `nameOf`
 * gives a skill's own name for any that it is known by, undefined where there is none.
 */
export function withSkill(
  message: InboundMessage,
  nameOf: (asked: string, conversationId: string) => string | undefined,
): { message: InboundMessage } | { notice: Notice } {
  const [, asked, text] = /^\/skill\s+(\S+)\s+([\s\S]+)$/.exec(message.text) ?? [];
  if (asked === undefined || text === undefined) return { message };
  const name = nameOf(asked, message.conversationId);
  if (name !== undefined) return { message: { ...message, text, skill: name } };
  return {
    notice: { text: `There is no skill ${asCode(asked, 64)} here. \`/remora skills\` shows those that there are.` },
  };
}
