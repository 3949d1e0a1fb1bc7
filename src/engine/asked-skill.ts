/** Handles messages that begin with `/skill NAME`: the answer follows the instructions of that skill. */
import { asCode } from "../lib/text/sanitize.ts";
import type { InboundMessage, Notice } from "../ports/message.ts";

const maxShownNameCharacters = 64;

/** Returns a notice if there is no such skill. `resolveSkill` returns a skill's main name for any of its names. */
export function withSkill(
  message: InboundMessage,
  resolveSkill: (asked: string, conversationId: string) => string | undefined,
): { message: InboundMessage } | { notice: Notice } {
  const [, asked, text] = /^\/skill\s+(\S+)\s+([\s\S]+)$/.exec(message.text) ?? [];
  if (asked === undefined || text === undefined) return { message };
  const name = resolveSkill(asked, message.conversationId);
  if (name !== undefined) return { message: { ...message, text, skill: name } };
  return {
    notice: {
      text: `There is no skill ${asCode(asked, maxShownNameCharacters)} here. \`/remora skills\` lists the skills.`,
    },
  };
}
