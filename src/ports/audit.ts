/** Records every effect in a tamper-evident log. If `record` rejects, the effect must not happen. */
import type { Author } from "./message.ts";

/** The card's text at the time of the decision, with configured secrets masked, and its SHA-256. */
export interface ShownCard {
  text: string;
  hash: string;
}

interface TurnPlace {
  turnId: string;
  conversationId: string;
}

export interface AuditMap {
  /** A person or a grant has answered a card. `requester` asked for the call; `by` decided. */
  "approval.answered": TurnPlace & {
    approvalId: string;
    callId: string;
    callHash: string;
    requester: Pick<Author, "id" | "name">;
    by: Pick<Author, "id" | "name">;
    isOperator: boolean;
    choice: "approve" | "deny" | "edit" | "allow" | "part" | "grant";
    tool: string;
    input: string;
    shown: ShownCard;
    /** The identity of a person who has signed in, such as `slack:U123`. Present for their answers on the dashboard. */
    onDashboardAs?: string;
    /** For `allow`, calls that match `rules` run without asking until `grantedUntil`. For `grant`, `grantIds` allowed the call. */
    rules?: string[];
    grantedUntil?: number;
    grantIds?: string[];
  };
  /** Nobody gains a right by it: `to` could answer before. */
  "approval.handed-over": TurnPlace & {
    approvalId: string;
    by: Pick<Author, "id" | "name">;
    to: Pick<Author, "id" | "name">;
  };
  "tool.called": TurnPlace & {
    userId: string;
    callId: string;
    tool: string;
    input: string;
    attempt: number;
    /** Absent if nobody was asked. */
    approvalId?: string;
  };
  "network.opening": ((TurnPlace & { callId: string }) | { skill: string }) & { hosts: string[] };
  "changes.keeping": TurnPlace & {
    draftId: string;
    /** Id of the entry in the undo journal. Repeating the step after a crash uses the same id. */
    undoId: string;
    folder: string;
    hash: string;
    paths?: string[];
    /** Absent if the rules kept the changes without asking. */
    approvalId?: string;
  };
  /**
   * The operator has used the dashboard. `subject` is an id, a name or a path; `detail` says more about the change. `by` is
   * the identity of a person who has signed in, such as `slack:U123`; it is absent for the person at the machine.
   */
  "operator.acted": { action: OperatorAction; subject: string; detail?: string; by?: Pick<Author, "id" | "name"> };
  /** A person has signed in to the dashboard, or out. */
  "session.changed": { identity: string; name: string; change: "signed-in" | "signed-out" | "signed-out-everywhere" };
  /** A safety setting is about to change while Remora runs. The values of secrets are never shown. */
  "settings.changing": { key: string; from: string; to: string; file: string };
  "changes.undoing": { draftId: string; undoId: string; approvalId: string; by: string };
}

export type OperatorAction =
  | "turn.stop"
  | "grant.end"
  | "schedule.end"
  | "memory.correct"
  | "memory.delete"
  | "skill.off"
  | "skill.on"
  | "skills.reload";

export type AuditName = keyof AuditMap;

export interface Audit {
  /** Resolves when the line is on disk. Rejects with code `audit.write` and a message for people. */
  record<N extends AuditName>(name: N, fields: AuditMap[N]): Promise<void>;
}
