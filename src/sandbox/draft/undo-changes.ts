/** Taking back changes that were kept: from the card's button, or the newest ones of a conversation by command. */
import type { ChangeApprovals } from "../../core/approval.ts";
import type { Ledger } from "../../core/ledger.ts";
import type { AnswerReceipt, Author, Scope } from "../../core/message.ts";
import type { UndoJournal } from "../effects/undo-journal.ts";
import type { KeepLock } from "./settle.ts";
import { filesText, folderName } from "./shown-changes.ts";

export interface UndoOptions {
  ledger: Ledger;
  undo: UndoJournal;
  keepLock: KeepLock;
  approvals: ChangeApprovals;
}

export interface UndoChanges {
  /** The approval whose changes were kept last in conversations of this scope and may still be undone. */
  newest(scope: Scope): Promise<string | undefined>;
  undo(approvalId: string, by: Author): Promise<AnswerReceipt>;
  prune(now: number): Promise<void>;
}

const never = new AbortController().signal;
const pruneEveryMs = 60 * 60 * 1_000;
const maxNamedFiles = 5;

export function createUndo({ ledger, undo, keepLock, approvals }: UndoOptions): UndoChanges {
  let nextPruneAt = 0;
  return {
    async newest(scope) {
      const drafts = await ledger.list("draft", { states: ["kept"] });
      const ofScope = drafts.filter(({ body }) => body.scope === scope && body.undoId !== undefined);
      for (const { id, body } of ofScope.toSorted((one, other) => other.updatedAt - one.updatedAt)) {
        for (const turnId of body.turnIds.toReversed()) {
          const approvalsOfTurn = await ledger.list("approval", { group: turnId });
          const row = approvalsOfTurn.find(
            (approval) => approval.body.changes?.draftId === id && approval.body.changes.undoId !== undefined,
          );
          if (row !== undefined) return row.id;
        }
      }
      return undefined;
    },
    async undo(approvalId, by) {
      const row = await ledger.get("approval", approvalId);
      const { undoId, draftId = "", result = "Kept" } = row?.body.changes ?? {};
      if (undoId === undefined)
        return { accepted: false, text: "This was undone already, or can't be undone any more." };
      const undone = await keepLock(() => undo.undo(undoId, never));
      switch (undone.type) {
        case "undone": {
          await approvals.finishChanges(approvalId, {
            result: `${result.replace(/\.$/, "")}, and undone by ${by.name}.`,
          });
          await tell(draftId, `${by.name} undid the changes of an earlier turn`);
          return { accepted: true, text: `Undone: ${filesText(undone.entry.paths)} restored.` };
        }
        case "changed-since": {
          const named = undone.paths.slice(0, maxNamedFiles).join(", ");
          return {
            accepted: false,
            text: `Nothing was undone: ${named} changed since. Undo the newer changes first, or change the files by hand.`,
          };
        }
        case "failed":
          return {
            accepted: false,
            text: `Nothing was undone: ${undone.path} could not be restored (${undone.reason}).`,
          };
        case "unknown":
          return { accepted: false, text: "This can't be undone any more: undo data is kept for 7 days." };
        default:
          return undone satisfies never;
      }
    },
    async prune(now) {
      if (now < nextPruneAt) return;
      nextPruneAt = now + pruneEveryMs;
      await keepLock(() => undo.prune(now));
    },
  };

  async function tell(draftId: string, sentence: string): Promise<void> {
    await ledger.transition("draft", draftId, ["kept"], "kept", ({ toldIn: _told, ...draft }) => ({
      ...draft,
      ending: `${sentence} in ${folderName(draft)}.`,
    }));
  }
}
