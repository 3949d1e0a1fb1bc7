/** A click on a card, or the operator's decision. */
import type { AnswerChoice, Author } from "../ports/message.ts";

export interface Click {
  id: string;
  choice: AnswerChoice;
  by: Author;
  isOperator: boolean;
  /** Where `by` is an identity, if the answer was given on the dashboard. It then needs no `from`. */
  platform?: string;
  from?: { platform: string; conversationId: string; messageId: string | undefined };
  reason?: string;
  editedJson?: string;
  /** Indexes of the files to keep, present only with `part`. Later resolved to the paths in `chosen`. */
  parts?: number[];
  chosen?: string[];
  /** Asked by a copy while not in the card's conversation, so the person need not be in it. */
  isFromOutside?: boolean;
  /** The person's id, present only with `handover`. */
  to?: string;
}
