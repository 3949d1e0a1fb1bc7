/** Histories of conversations, and the entries by which `/remora forget` finds them. */
import type { Ledger } from "../ports/ledger.ts";
import { hasTurns, type InUse } from "./in-use.ts";
import { nothing, type RetentionKind, sumOf } from "./kinds.ts";

export interface HistoryRetention {
  /** When the history was last added to, and its size. Undefined if there is none. */
  look(conversationId: string): Promise<{ at: number; bytes: number } | undefined>;
  /** Removes the history if it was last added to before `before`. Resolves to whether it did. */
  removeOlder(conversationId: string, before: number): Promise<boolean>;
}

const minEndedMs = 3_600_000;

export function conversationKinds(ledger: Ledger, history: HistoryRetention, days: number | null): RetentionKind[] {
  const conversations = async () =>
    (await ledger.list("conversation", { states: ["known"] })).map(({ id, updatedAt }) => ({ id, updatedAt }));

  /** Entries end first and go later, because a request may come back to the conversation in between. */
  async function removeEnded(inUse: InUse): Promise<void> {
    for (const { id } of await ledger.list("conversation", { states: ["ended"] })) {
      if ((await isOver(id, inUse)) && (await history.look(id)) === undefined) continue;
      await ledger.transition("conversation", id, ["ended"], "known");
    }
    await ledger.prune("conversation", ["ended"], Date.now() - minEndedMs);
  }

  async function isOver(conversationId: string, inUse: InUse): Promise<boolean> {
    return !inUse.conversationIds.has(conversationId) && !(await hasTurns(ledger, conversationId));
  }

  return [
    {
      ...{ name: "conversation histories", days },
      async size() {
        const found = [];
        for (const { id } of await conversations()) found.push(await history.look(id));
        return sumOf(...found.map((one) => (one === undefined ? nothing : { items: 1, bytes: one.bytes })));
      },
      async prune(before, inUse, isDryRun) {
        let removed = nothing;
        for (const { id } of await conversations()) {
          const found = await history.look(id);
          if (found === undefined || found.at >= before || !(await isOver(id, inUse))) continue;
          if (isDryRun || (await history.removeOlder(id, before)))
            removed = sumOf(removed, { items: 1, bytes: found.bytes });
        }
        return removed;
      },
    },
    {
      ...{ name: "conversation entries", days },
      size: async () => ({ items: (await conversations()).length, bytes: 0 }),
      async prune(before, inUse, isDryRun) {
        if (!isDryRun) await removeEnded(inUse);
        let removed = nothing;
        for (const { id, updatedAt } of await conversations()) {
          if (updatedAt >= before || !(await isOver(id, inUse))) continue;
          // `/remora forget` needs the entry for as long as there is a history. The one above goes first.
          const at = (await history.look(id))?.at;
          if (at !== undefined && (at >= before || !isDryRun)) continue;
          if (!isDryRun) await ledger.transition("conversation", id, ["known"], "ended");
          removed = sumOf(removed, { items: 1, bytes: 0 });
        }
        return removed;
      },
    },
  ];
}
