/** `/remora undo`: takes back the newest changes that were kept in the channel or direct message. */

import type { CommandHandler } from "../ports/command.ts";
import type { Drafts } from "../ports/draft.ts";

export function undoCommand(drafts: Pick<Drafts, "undoNewest">): CommandHandler {
  return {
    usage: "undo",
    description: "undo the newest changes to files here",
    run: async ({ scope, by }) => (await drafts.undoNewest(scope, by)).text,
  };
}
