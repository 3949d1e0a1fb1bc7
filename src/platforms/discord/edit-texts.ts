/**
 * What the Edit form begins with. It is opened within three seconds of a click, also after a restart and in another process than
 * the one that asked; so the arguments are kept beside the card, as long as it can be answered.
 */
import type { ApprovalCard } from "../../core/approval.ts";
import type { Store } from "../../core/store.ts";

export interface EditTexts {
  keep(card: ApprovalCard): Promise<void>;
  /** The arguments as JSON text; undefined when they are not to be edited, or it was too long ago. */
  find(approvalId: string): Promise<string | undefined>;
}

/** For cards that never expire. */
const longestMs = 30 * 86_400_000;

export function createEditTexts(store: Store): EditTexts {
  return {
    async keep({ items, expiresAt }) {
      const ttlMs = Math.min(Math.max(60_000, (expiresAt ?? Number.POSITIVE_INFINITY) - Date.now()), longestMs);
      for (const { approvalId, editJson, choices } of items) {
        if (editJson !== undefined && choices.includes("edit")) await store.set(keyOf(approvalId), editJson, ttlMs);
      }
    },
    async find(approvalId) {
      const kept = await store.get(keyOf(approvalId));
      return typeof kept === "string" ? kept : undefined;
    },
  };
}

function keyOf(approvalId: string): string {
  return `discord:edit:${approvalId}`;
}
