/** What people think of answers. One rating for each person and turn; the latest wins. */
import type { Author, Scope } from "./message.ts";

/** `said` is a sentence without a thumb. */
export type RatingState = "good" | "bad" | "said" | "withdrawn";

/** The person's sentence is only in the feedback file of the scope (src/memory/feedback.ts). */
export interface RatingRecord {
  turnId: string;
  platform: string;
  conversationId: string;
  scope: Scope;
  by: Pick<Author, "id" | "name">;
  at: number;
  hasWords: boolean;
}

export interface Ratings {
  /** Of the last 30 days. In one scope, or everywhere. */
  counts(scope?: Scope): Promise<{ good: number; bad: number }>;
  /** Newest first, without withdrawn ones. */
  recent(limit: number): Promise<(RatingRecord & { state: "good" | "bad" | "said" })[]>;
}
