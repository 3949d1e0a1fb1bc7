/** Approval cards, rendered only from records. Texts are plain and on one line unless noted; platforms escape them. */
import type { AnswerChoice, ReplyTarget } from "./message.ts";

/** `open → approved → consumed`, or `open → denied | expired | cancelled`, or `approved → expired | cancelled`. */
export type ApprovalState = "open" | "approved" | "consumed" | "denied" | "expired" | "cancelled";

export interface CardItem {
  /** An answer to this id counts for all identical calls on the card. */
  approvalId: string;
  tool: string;
  /** The complete call as multi-line text. Invisible characters are escaped, so nothing is hidden. */
  callText: string;
  reasons: string[];
  /** Set if odd characters, mixed alphabets or long runs of whitespace could mislead the reader. */
  warning?: string;
  times: number;
  state: ApprovalState;
  choices: AnswerChoice[];
  /** The current arguments as JSON text without invisible characters. */
  editJson?: string;
  /** The rule that the choice `allow` would save, in words. */
  grantText?: string;
  editedFrom?: string;
  /** For example `1 of 2 approvals: Ann`, while more approvals are needed. */
  progress?: string;
  outcome?: string;
  facts?: string[];
  /** Shown instead of `callText` and `reasons`. */
  changes?: ShownChanges;
}

/** All texts are escaped. An item with no choices but `undo` and `diff` only reports what was kept. */
export interface ShownChanges {
  /** For example `website: 1 file deleted, 2 changed, 3 added`. */
  title: string;
  summary: string;
  /** Deletions first, then changes, then additions; at most `maxShownFiles`. */
  files: ShownChange[];
  moreFiles: number;
  commands: { text: string; outcome: string }[];
  lastOutput?: string;
  /** Present if the diff is short enough for a card. The choice `diff` shows longer ones. */
  diff?: string;
  /** Button labels. For a stopped or failed turn they are Keep and Discard. */
  labels: { approve: string; deny: string };
}

export interface ShownChange {
  path: string;
  action: "deleted" | "changed" | "added";
  /** For example `+12 −3`, `14 kB`, `link to x`, `now executable`. */
  detail: string;
}

export const maxShownFiles = 25;

export interface ApprovalCard {
  id: string;
  target: ReplyTarget;
  requesterName: string;
  approversText: string;
  expiresAt: number | null;
  items: CardItem[];
}
