/** A question that a tool asks the person it works for: one click answers it. Not an approval: nothing runs because of it alone. */
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
  /** Once it was answered: index into the options, and who it was. */
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
  /** Resolves to the option that was picked. Rejects when it can't be asked, and with the signal's reason when that aborts first. */
  ask(request: QuestionRequest, signal: AbortSignal): Promise<string>;
  answer(pick: InboundPick): Promise<AnswerReceipt>;
  /** Withdraws questions whose process died, as none outlives its turn. Rewrites cards that could not be rewritten before. */
  sweep(now: number): Promise<void>;
}
