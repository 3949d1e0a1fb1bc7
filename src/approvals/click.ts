/** A click on a card, or the word of the operator. */
import type { AnswerChoice, Author } from "../ports/message.ts";

export interface Click {
  id: string;
  choice: AnswerChoice;
  by: Author;
  isOperator: boolean;
  /** Absent for the operator, who is in no conversation. */
  from?: { platform: string; conversationId: string; messageId?: string };
  reason?: string;
  editedJson?: string;
  /** With `part`: indexes of the files to keep, and then their paths. */
  parts?: number[];
  chosen?: string[];
}
