/** Stores the contents of forms, because a form must open within three seconds of a click, even after a restart. */
import { z } from "zod";
import { type ApprovalCard, type CardItem, maxShownFiles } from "../../ports/card.ts";
import type { QuestionCard } from "../../ports/question.ts";
import type { Store } from "../../ports/store.ts";

const fileChoiceSchema = z.object({
  /** In the order of the indexes in `InboundAnswer.parts`. */
  files: z.array(
    z.object({
      path: z.string(),
      action: z.enum(["deleted", "changed", "added"]),
      detail: z.string(),
      warning: z.string().exactOptional(),
    }),
  ),
  /** Files that are not in `files`. */
  moreFiles: z.number().default(0),
  denyLabel: z.string(),
});
export type FileChoice = z.infer<typeof fileChoiceSchema>;

const askedSchema = z.object({
  head: z.string(),
  question: z.string(),
  words: z.object({ maxFiles: z.number(), fileTypes: z.array(z.string()).exactOptional() }),
});
/** A question to be answered in words. */
export type AskedInWords = z.infer<typeof askedSchema>;

export interface FormContents {
  keep(card: ApprovalCard): Promise<void>;
  /** Deletes the contents of the card's settled items. */
  drop(card: ApprovalCard): Promise<void>;
  /** Returns JSON text, or undefined if the call can't be edited or the contents have expired. */
  arguments(approvalId: string): Promise<string | undefined>;
  files(approvalId: string): Promise<FileChoice | undefined>;
  /** What Allow would allow, in words. */
  grantText(approvalId: string): Promise<string | undefined>;
  /** Keeps an open question that has a form, and deletes a closed one. */
  keepQuestion(card: QuestionCard): Promise<void>;
  question(questionId: string): Promise<AskedInWords | undefined>;
}

/** Lifetime for cards that never expire. */
const maxKeptMs = 30 * 86_400_000;
const minKeptMs = 60_000;

export function createFormContents(store: Store, platform: "discord" | "slack"): FormContents {
  const keyOf = (form: "edit" | "allow" | "files" | "question", approvalId: string) =>
    `${platform}:${form}:${approvalId}`;

  async function keepItem(item: CardItem, ttlMs: number): Promise<void> {
    const { approvalId, editJson, grantText, changes, choices } = item;
    if (editJson !== undefined && choices.includes("edit")) await store.set(keyOf("edit", approvalId), editJson, ttlMs);
    if (grantText !== undefined && choices.includes("allow"))
      await store.set(keyOf("allow", approvalId), grantText, ttlMs);
    if (changes === undefined || !choices.includes("part")) return;
    const files = changes.files.slice(0, maxShownFiles).map((file) => ({ ...file }));
    const moreFiles = changes.moreFiles + changes.files.length - files.length;
    await store.set(keyOf("files", approvalId), { files, moreFiles, denyLabel: changes.labels.deny }, ttlMs);
  }

  async function text(key: string): Promise<string | undefined> {
    const kept = await store.get(key);
    return typeof kept === "string" ? kept : undefined;
  }

  return {
    async keep({ items, expiresAt, lastExpiresAt = expiresAt }) {
      const leftMs = (lastExpiresAt ?? Number.POSITIVE_INFINITY) - Date.now();
      const ttlMs = Math.min(Math.max(minKeptMs, leftMs), maxKeptMs);
      for (const item of items) await keepItem(item, ttlMs);
    },
    async drop({ items }) {
      for (const { approvalId, changes } of items.filter(({ state }) => state !== "open")) {
        await store.delete(keyOf(changes === undefined ? "edit" : "files", approvalId));
        await store.delete(keyOf("allow", approvalId));
      }
    },
    arguments: (approvalId) => text(keyOf("edit", approvalId)),
    grantText: (approvalId) => text(keyOf("allow", approvalId)),
    async keepQuestion({ id, head, question, words, isOpen }) {
      if (words === undefined) return;
      const { maxFiles, fileTypes } = words;
      const kept = { head, question, words: { maxFiles, ...(fileTypes === undefined ? {} : { fileTypes }) } };
      if (isOpen) await store.set(keyOf("question", id), kept, maxKeptMs);
      else await store.delete(keyOf("question", id));
    },
    question: async (questionId) => askedSchema.safeParse(await store.get(keyOf("question", questionId))).data,
    files: async (approvalId) => fileChoiceSchema.safeParse(await store.get(keyOf("files", approvalId))).data,
  };
}
