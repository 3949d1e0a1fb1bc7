/**
 * Commands that are something said: `/remora ask TEXT`, and `/remora skill NAME TEXT`, which asks with the instructions of that
 * skill in front of the model. The second may also be typed in a message, as `/skill NAME TEXT`.
 */

import { asCode } from "../lib/text/sanitize.ts";
import type { InboundMessage, Notice } from "../ports/message.ts";
import type { CommandHandler } from "./registry.ts";

/** What is said by it; undefined for every other command, and when there is nothing to say. */
export function saidByCommand(name: string, rest: string): string | undefined {
  const text = rest.trim();
  if (name === "ask") return text === "" ? undefined : text;
  return name === "skill" && /^\S+\s+\S/.test(text) ? `/skill ${text}` : undefined;
}

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

/** For the list of commands, and for what platforms do not say by themselves. */
export const skillCommand: CommandHandler = {
  usage: "skill NAME TEXT",
  description: "ask with the instructions of one skill",
  run: async () =>
    "Write the skill's name and what you want: `/remora skill NAME TEXT`. `/remora skills` shows the names.",
};
