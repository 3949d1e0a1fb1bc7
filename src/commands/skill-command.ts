/**
 * Commands that are something said: `/remora ask TEXT`, and `/remora skill NAME TEXT`, which asks with the instructions of that
 * skill in front of the model. The second may also be typed in a message, as `/skill NAME TEXT`.
 */

import type { CommandHandler } from "../ports/command.ts";

/** For the list of commands, and for what platforms do not say by themselves. */
export const skillCommand: CommandHandler = {
  usage: "skill NAME TEXT",
  description: "ask with the instructions of one skill",
  run: async () =>
    "Write the skill's name and what you want: `/remora skill NAME TEXT`. `/remora skills` shows the names.",
};
