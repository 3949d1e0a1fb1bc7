/**
 * The audit: what had an effect, or was about to have one, as lines that can't be changed unnoticed.
 *
 * `record` comes before the effect that the line describes. When it rejects, the effect must not happen.
 */
import type { Author } from "./message.ts";

/** What people saw when they decided: the text of the card, with configured secrets masked, and its SHA-256. */
export interface ShownCard {
  text: string;
  hash: string;
}

interface TurnPlace {
  turnId: string;
  conversationId: string;
}

export interface AuditMap {
  /** Somebody answers a card, or a grant answers it. `requester` asked for the call, `by` decides. */
  "approval.answered": TurnPlace & {
    approvalId: string;
    callId: string;
    callHash: string;
    requester: Pick<Author, "id" | "name">;
    by: Pick<Author, "id" | "name">;
    /** Given at the machine itself. */
    isOperator: boolean;
    /** `grant`: by what somebody has allowed before. */
    choice: "approve" | "deny" | "edit" | "allow" | "part" | "grant";
    /** The call as JSON text. After `edit` the call that was written in its place. */
    tool: string;
    input: string;
    shown: ShownCard;
    /** With `allow`: rules that ask nothing until `grantedUntil`. With `grant`: the grants. */
    rules?: string[];
    grantedUntil?: number;
    grantIds?: string[];
  };
  /** A tool is about to run. */
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
  /** A way to these hosts is about to be opened for a command, or for the plugin of a skill. */
  "network.opening": ((TurnPlace & { callId: string }) | { skill: string }) & { hosts: string[] };
  /** The changes of a draft are about to be written to the real folder. */
  "changes.keeping": TurnPlace & {
    draftId: string;
    /** Of the undo journal; the same again after a crash. */
    undoId: string;
    folder: string;
    /** SHA-256 over what is kept. */
    hash: string;
    /** Of all of them when absent. */
    paths?: string[];
    /** Absent: kept by the rules. */
    approvalId?: string;
  };
  "changes.undoing": { draftId: string; undoId: string; approvalId: string; by: string };
}

export type AuditName = keyof AuditMap;

export interface Audit {
  /** Resolves when the line is on disk. Rejects with code `audit.write`, in words for people, when it could not be written. */
  record<N extends AuditName>(name: N, fields: AuditMap[N]): Promise<void>;
}
