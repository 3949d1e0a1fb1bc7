/**
 * A question that a tool asks its requester, who answers with one click. It is not an approval: an answer alone makes nothing
 * run.
 */
import type { AnswerReceipt, Author, InboundPick, ReplyTarget } from "./message.ts";

export interface QuestionCard {
  /** 128 random bits, base64url; locates the question and gives no authority. */
  id: string;
  target: ReplyTarget;
  tool: string;
  /** Plain text, at most 1,000 characters, already escaped for invisible characters. */
  question: string;
  /** 1 to 5 labels of at most 75 characters, plain text. */
  options: string[];
  requesterName: string;
  outcome?: string;
}

export interface QuestionRecord {
  target: ReplyTarget;
  requester: Author;
  tool: string;
  question: string;
  options: string[];
  /** Set when the question is answered: the index into the options, and the person who picked. */
  picked?: number;
  pickedBy?: Author;
}

export interface QuestionRequest {
  target: ReplyTarget;
  requester: Author;
  tool: string;
  question: string;
  options: readonly string[];
}

export interface Questions {
  /**
   * Resolves to the option that was picked. Rejects if the question can't be asked, and with the signal's reason if the signal
   * aborts first.
   */
  ask(request: QuestionRequest, signal: AbortSignal): Promise<string>;
  answer(pick: InboundPick): Promise<AnswerReceipt>;
  /** Withdraws questions whose process died, because no question outlives its turn. Updates cards whose earlier update failed. */
  sweep(now: number): Promise<void>;
}
