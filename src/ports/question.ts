/** A question that a tool asks its requester, who answers with one click. An answer approves nothing. */
import type { AnswerReceipt, Author, InboundPick, ReplyTarget } from "./message.ts";

export interface QuestionCard {
  /** 128 random bits, base64url. Gives no authority. */
  id: string;
  target: ReplyTarget;
  tool: string;
  /** At most 1,000 characters of plain text, with invisible characters already escaped. */
  question: string;
  /** 1 to 5 plain labels of at most 75 characters. */
  options: string[];
  requesterName: string;
  outcome?: string;
}

export interface QuestionRecord {
  target: ReplyTarget;
  /** Of the call that asks: `<turnId>-<callId>`. Absent in records of earlier versions. */
  jobId?: string;
  /** How many questions the call has asked before. A call that runs again finds its questions by it. */
  number?: number;
  requester: Author;
  tool: string;
  question: string;
  options: string[];
  picked?: number;
  pickedBy?: Author;
}

export interface QuestionRequest {
  target: ReplyTarget;
  jobId: string;
  number: number;
  requester: Author;
  tool: string;
  question: string;
  options: readonly string[];
}

export interface Questions {
  /**
   * While the service accepts nothing, tries again until the abort. Rejects if the question can't be asked, or with the
   * signal's reason after an abort.
   */
  ask(request: QuestionRequest, signal: AbortSignal): Promise<string>;
  answer(pick: InboundPick): Promise<AnswerReceipt>;
  /** Withdraws questions that nobody waits for and retries failed card updates. */
  sweep(now: number): Promise<void>;
}
