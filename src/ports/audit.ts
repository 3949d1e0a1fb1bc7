/** Records every effect, in lines that nobody can change unnoticed. When `record` rejects, the effect must not happen. */
import type { Author } from "./message.ts";

/** The card's text at the decision, with configured secrets masked, and its SHA-256. */
export interface ShownCard {
  text: string;
  hash: string;
}

interface TurnPlace {
  turnId: string;
  conversationId: string;
}

export interface AuditMap {
  /** A person or a grant answers a card. `requester` asked for the call, `by` decides. */
  "approval.answered": TurnPlace & {
    approvalId: string;
    callId: string;
    callHash: string;
    requester: Pick<Author, "id" | "name">;
    by: Pick<Author, "id" | "name">;
    isOperator: boolean;
    /** `grant`: allowed in advance. */
    choice: "approve" | "deny" | "edit" | "allow" | "part" | "grant";
    /** The call as JSON text; after `edit`, the edited call. */
    tool: string;
    input: string;
    shown: ShownCard;
    /** With `allow`: rules that don't ask until `grantedUntil`. With `grant`: the grants. */
    rules?: string[];
    grantedUntil?: number;
    grantIds?: string[];
  };
  "tool.called": TurnPlace & {
    userId: string;
    callId: string;
    tool: string;
    /** JSON text. */
    input: string;
    attempt: number;
    /** Absent: nobody was asked. */
    approvalId?: string;
  };
  "network.opening": ((TurnPlace & { callId: string }) | { skill: string }) & { hosts: string[] };
  "changes.keeping": TurnPlace & {
    draftId: string;
    /** Entry of the undo journal. Stays the same after a crash. */
    undoId: string;
    folder: string;
    hash: string;
    /** Absent: all paths. */
    paths?: string[];
    /** Absent: kept by the rules. */
    approvalId?: string;
  };
  "changes.undoing": { draftId: string; undoId: string; approvalId: string; by: string };
}

export type AuditName = keyof AuditMap;

export interface Audit {
  /** Resolves when the line is on disk. Rejects with code `audit.write` and a message for people. */
  record<N extends AuditName>(name: N, fields: AuditMap[N]): Promise<void>;
}
