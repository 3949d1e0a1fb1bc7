/** Records every effect in lines that nobody can change unnoticed. If `record` rejects, the effect must not happen. */
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
  /** A person or a grant answers a card. `requester` asked for the call, `by` decides. */
  "approval.answered": TurnPlace & {
    approvalId: string;
    callId: string;
    callHash: string;
    requester: Pick<Author, "id" | "name">;
    by: Pick<Author, "id" | "name">;
    isOperator: boolean;
    /** `grant` if the call was allowed in advance. */
    choice: "approve" | "deny" | "edit" | "allow" | "part" | "grant";
    /** The call as JSON text; after `edit`, the edited call. */
    tool: string;
    input: string;
    shown: ShownCard;
    /** For `allow`, `rules` don't ask until `grantedUntil`. For `grant`, `grantIds` are the grants that allowed the call. */
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
    /** Absent if nobody was asked. */
    approvalId?: string;
  };
  "network.opening": ((TurnPlace & { callId: string }) | { skill: string }) & { hosts: string[] };
  "changes.keeping": TurnPlace & {
    draftId: string;
    /** Id of the entry in the undo journal. If the step is repeated after a crash, the id is the same. */
    undoId: string;
    folder: string;
    hash: string;
    /** Absent if all paths are kept. */
    paths?: string[];
    /** Absent if the rules kept the changes. */
    approvalId?: string;
  };
  "changes.undoing": { draftId: string; undoId: string; approvalId: string; by: string };
}

export type AuditName = keyof AuditMap;

export interface Audit {
  /** Resolves when the line is on disk. Rejects with code `audit.write` and a message for people. */
  record<N extends AuditName>(name: N, fields: AuditMap[N]): Promise<void>;
}
