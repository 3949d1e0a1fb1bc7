/** Undoes kept changes: a card's changes by its button, or a conversation's newest changes by a command. */
import { messageOf } from "../../lib/errors.ts";
import { never } from "../../lib/never.ts";
import type { ChangeApprovals, ChangesRecord } from "../../ports/approval.ts";
import type { Audit } from "../../ports/audit.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Events } from "../../ports/events.ts";
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { AnswerReceipt, Author, Scope } from "../../ports/message.ts";
import type { UndoJournal, UndoResult } from "../effects/undo-journal.ts";
import { draftOfKeep, filesText, folderPhrase, type KeepLock, namedPaths } from "./keep-draft.ts";

export interface UndoOptions {
  ledger: Ledger;
  undo: UndoJournal;
  keepLock: KeepLock;
  /** Records the draft as kept, in case a crash prevented this after its files were written. */
  endKept(draftId: string, undoId: string): Promise<void>;
  approvals: ChangeApprovals;
  events: Events;
  audit: Audit;
}

export interface UndoChanges {
  /** Finds the approval id of the newest kept changes in this scope that can still be undone. */
  newest(scope: Scope): Promise<string | undefined>;
  undo(approvalId: string, by: Author): Promise<AnswerReceipt>;
  /** Must be called at startup. Updates the cards of undos that a crash interrupted. */
  recover(): Promise<void>;
  prune(now: number): Promise<void>;
}

const pruneIntervalMs = 60 * 60 * 1_000;

export function createUndo({ ledger, undo, keepLock, endKept, approvals, events, audit }: UndoOptions): UndoChanges {
  let nextPruneAt = 0;

  async function changeDraft(
    draftId: string,
    change: (draft: DraftRecord) => DraftRecord,
  ): Promise<LedgerEntry<"draft"> | undefined> {
    return await ledger.transition("draft", draftId, ["kept"], "kept", change);
  }

  /** Records the person in the ledger before the first file changes. */
  async function undoRecorded(approvalId: string, changes: ChangesRecord, by: Author): Promise<AnswerReceipt> {
    const { undoId = "", draftId } = changes;
    const refusal = await audit.record("changes.undoing", { draftId, undoId, approvalId, by: by.id }).then(
      () => undefined,
      (thrown: unknown) => ({ accepted: false, text: `Nothing was undone: ${messageOf(thrown)}.` }),
    );
    if (refusal !== undefined) return refusal;
    await changeDraft(draftId, (draft) => ({ ...draft, undoing: { approvalId, by: by.name } }));
    const undone = await undo.undo(undoId, never);
    if (undone.type === "undone") {
      events.emit("changes.undone", { draftId, undoId, by: by.id, files: undone.entry.paths });
      await finish(approvalId, draftId, by.name);
    } else await changeDraft(draftId, withoutUndoing);
    return undoReceipt(undone);
  }

  async function finish(approvalId: string, draftId: string, by: string): Promise<void> {
    const changes = (await ledger.get("approval", approvalId))?.body.changes;
    if (changes?.undoId !== undefined) {
      const result = `${(changes.result ?? "Kept").replace(/\.$/, "")}, then undone by ${by}.`;
      await approvals.finishChanges(approvalId, { result });
    }
    await changeDraft(draftId, ({ toldIn: _told, ...draft }) => ({
      ...withoutUndoing(draft),
      ending: `${by} undid the changes of an earlier turn in ${folderPhrase(draft)}.`,
    }));
  }

  async function approvalOfKeep({ turnIds }: DraftRecord, undoId: string): Promise<string | undefined> {
    for (const turnId of turnIds.toReversed()) {
      const ofTurn = await ledger.list("approval", { group: turnId });
      const found = ofTurn.find(({ body }) => body.changes?.undoId === undoId);
      if (found !== undefined) return found.id;
    }
    return undefined;
  }

  return {
    async newest(scope) {
      // The journal knows when changes were kept; draft records also change later, for example when a turn is told.
      for (const { id } of await undo.list()) {
        const draft = (await ledger.get("draft", draftOfKeep(id)))?.body;
        const approvalId = draft?.scope === scope ? await approvalOfKeep(draft, id) : undefined;
        if (approvalId !== undefined) return approvalId;
      }
      return undefined;
    },
    async undo(approvalId, by) {
      const changes = (await ledger.get("approval", approvalId))?.body.changes;
      if (changes?.undoId === undefined)
        return { accepted: false, text: "This was already undone, or it can no longer be undone." };
      await endKept(changes.draftId, changes.undoId);
      return await keepLock(() => undoRecorded(approvalId, changes, by));
    },
    async recover() {
      const kept = await ledger.list("draft", { states: ["kept"] });
      for (const { id } of kept.filter(({ body }) => body.undoing !== undefined)) {
        await keepLock(async () => {
          const { undoing, undoId } = (await ledger.get("draft", id))?.body ?? {};
          if (undoing === undefined) return;
          const isThere = (await undo.list()).some((entry) => entry.id === undoId);
          if (isThere) await changeDraft(id, withoutUndoing);
          else await finish(undoing.approvalId, id, undoing.by);
        });
      }
    },
    async prune(now) {
      if (now < nextPruneAt) return;
      nextPruneAt = now + pruneIntervalMs;
      await keepLock(() => undo.prune(now));
    },
  };
}

function withoutUndoing({ undoing: _undoing, ...draft }: DraftRecord): DraftRecord {
  return draft;
}

/** Avoids "restored", because undoing an added file deletes it. */
function undoneText(count: number): string {
  return `Undone: ${filesText(count)} ${count === 1 ? "is as it was" : "are as they were"} before.`;
}

function undoReceipt(undone: UndoResult): AnswerReceipt {
  switch (undone.type) {
    case "undone":
      return { accepted: true, text: undoneText(undone.entry.paths) };
    case "changed-since": {
      const have = undone.paths.length === 1 ? "has" : "have";
      const text = `Nothing was undone: ${namedPaths(undone.paths)} ${have} changed since. Undo the newer changes first, or edit the files by hand.`;
      return { accepted: false, text };
    }
    case "failed": {
      const { path, reason } = undone;
      return { accepted: false, text: `Nothing was undone: ${path} could not be restored (${reason}).` };
    }
    case "unknown":
      return { accepted: false, text: "This can no longer be undone. Undo data is kept only for a limited time." };
    default:
      return undone satisfies never;
  }
}
