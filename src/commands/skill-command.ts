/** Platforms turn `/remora skill` into a message, so this handler runs only if the name or the text is missing. */
import type { CommandHandler } from "../ports/command.ts";

export const skillCommand: CommandHandler = {
  usage: "skill NAME TEXT",
  description: "ask with the instructions of one skill",
  run: async () =>
    "Add the skill's name and your request: `/remora skill NAME TEXT`. `/remora skills` lists the names.",
};
