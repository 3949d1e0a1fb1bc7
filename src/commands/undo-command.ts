/** `/remora undo` undoes the newest changes that were kept in a channel or direct message. */
import type { CommandHandler } from "../ports/command.ts";
import type { Drafts } from "../ports/draft.ts";

export function undoCommand(drafts: Pick<Drafts, "undoNewest">): CommandHandler {
  return {
    usage: "undo",
    description: "undo the newest file changes here",
    run: async ({ scope, by }) => (await drafts.undoNewest(scope, by)).text,
  };
}
