/** Approval cards, made only from records. Texts are plain and one line long unless noted; platforms escape them. */
import type { AnswerChoice, ReplyTarget } from "./message.ts";

/** `open → approved → consumed`, or `open → denied | expired | cancelled`, or `approved → expired | cancelled`. */
export type ApprovalState = "open" | "approved" | "consumed" | "denied" | "expired" | "cancelled";

export interface CardItem {
  /** An answer to this id counts for all identical calls of the card. */
  approvalId: string;
  tool: string;
  /** The complete call as multi-line text. Invisible characters are escaped, so nothing is hidden. */
  callText: string;
  /** Why the call needs approval, one line per reason, with the skill's name. */
  reasons: string[];
  /** Set if the call may mislead a reader: odd characters, mixed alphabets or long blanks. */
  warning?: string;
  times: number;
  state: ApprovalState;
  /** The choices that are currently possible; exactly these have a button. */
  choices: AnswerChoice[];
  /** If `choices` contains `edit`, the current arguments as JSON text without invisible characters. */
  editJson?: string;
  /** If `choices` contains `allow`, the rule that the grant would save, in words. */
  grantText?: string;
  editedFrom?: string;
  /** `1 of 2 approvals: Ann`, while more approvals are needed. */
  progress?: string;
  /** `Approved by Ann`, once settled. */
  outcome?: string;
  /** One line each, such as hosts that the call reaches or files that it can read. */
  facts?: string[];
  /** Shown instead of `callText` and `reasons`. */
  changes?: ShownChanges;
}

/** All texts are escaped. An item with no choices other than `undo` and `diff` only reports what was kept. */
export interface ShownChanges {
  /** One line: `website: 1 file deleted, 2 changed, 3 added`. */
  title: string;
  /** One sentence that says why a person is asked, or what happened to the changes; may be empty. */
  summary: string;
  /** Deletions first, then changes, then additions; at most `maxShownFiles`. */
  files: ShownChange[];
  moreFiles: number;
  /** The commands that ran, oldest first. `outcome` is a short text such as `exit code 0`. */
  commands: { text: string; outcome: string }[];
  lastOutput?: string;
  /** The diff in several lines, if it is short enough for a card. The choice `diff` shows a longer one. */
  diff?: string;
  /** Labels of the buttons. For a stopped or failed turn they are Keep and Discard. */
  labels: { approve: string; deny: string };
}

export interface ShownChange {
  path: string;
  action: "deleted" | "changed" | "added";
  /** `+12 −3`, `14 kB`, `link to x`, `now executable`. */
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
