/** Stores the contents of forms, because a form must open within three seconds of a click, even after a restart. */
import type { ApprovalCard, CardItem, ShownChange } from "../../../ports/card.ts";
import type { Json } from "../../../ports/message.ts";
import type { Store } from "../../../ports/store.ts";

/** The files of one item, in the order of the indexes in `InboundAnswer.parts`. */
export interface FileChoice {
  files: ShownChange[];
  denyLabel: string;
}

export interface FormContents {
  keep(card: ApprovalCard): Promise<void>;
  /** Returns JSON text, or undefined if the call can't be edited or the contents have expired. */
  arguments(approvalId: string): Promise<string | undefined>;
  files(approvalId: string): Promise<FileChoice | undefined>;
  /** What Allow would allow, in words. */
  grantText(approvalId: string): Promise<string | undefined>;
}

/** Lifetime for cards that never expire. */
const maxKeptMs = 30 * 86_400_000;
const minKeptMs = 60_000;

export function createFormContents(store: Store): FormContents {
  async function keepItem(
    { approvalId, editJson, grantText, changes, choices }: CardItem,
    ttlMs: number,
  ): Promise<void> {
    if (editJson !== undefined && choices.includes("edit")) await store.set(editKey(approvalId), editJson, ttlMs);
    if (grantText !== undefined && choices.includes("allow")) await store.set(allowKey(approvalId), grantText, ttlMs);
    if (changes === undefined || !choices.includes("part")) return;
    const files = changes.files.map(({ path, action, detail }) => ({ path, action, detail }));
    const choice = { files, denyLabel: changes.labels.deny } satisfies Json;
    await store.set(filesKey(approvalId), choice, ttlMs);
  }

  return {
    async keep({ items, expiresAt }) {
      const leftMs = (expiresAt ?? Number.POSITIVE_INFINITY) - Date.now();
      const ttlMs = Math.min(Math.max(minKeptMs, leftMs), maxKeptMs);
      for (const item of items) await keepItem(item, ttlMs);
    },
    async arguments(approvalId) {
      const kept = await store.get(editKey(approvalId));
      return typeof kept === "string" ? kept : undefined;
    },
    async grantText(approvalId) {
      const kept = await store.get(allowKey(approvalId));
      return typeof kept === "string" ? kept : undefined;
    },
    async files(approvalId) {
      return (await store.get(filesKey(approvalId))) as unknown as FileChoice | undefined;
    },
  };
}

function editKey(approvalId: string): string {
  return `discord:edit:${approvalId}`;
}

function allowKey(approvalId: string): string {
  return `discord:allow:${approvalId}`;
}

function filesKey(approvalId: string): string {
  return `discord:files:${approvalId}`;
}
