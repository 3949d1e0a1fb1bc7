/** What requests, cards, schedules and Undo still need, read from the ledger. Read right before anything is removed. */
import type { Ledger } from "../ports/ledger.ts";
import type { Scope } from "../ports/message.ts";

export interface InUse {
  conversationIds: ReadonlySet<string>;
  scopes: ReadonlySet<Scope>;
  /** Absolute, as the records name them. */
  folders: ReadonlySet<string>;
}

/** `undoFolders`: folders with changes that can still be undone. */
export async function readInUse(ledger: Ledger, undoFolders: readonly string[]): Promise<InUse> {
  const conversationIds = new Set<string>();
  const scopes = new Set<Scope>();
  const folders = new Set<string>(undoFolders);
  const use = ({ conversationId, scope }: { conversationId: string; scope: Scope }, folder?: string) => {
    conversationIds.add(conversationId);
    scopes.add(scope);
    if (folder !== undefined) folders.add(folder);
  };
  // Messages come first: one that becomes a turn in between is then in both lists, not in neither.
  for (const { body } of await ledger.list("message", { states: ["queued", "taken"] })) use(body);
  for (const { body } of await ledger.list("turn", { states: ["running", "parked"] })) use(body, body.workingFolder);
  for (const { body } of await ledger.list("approval", { states: ["open", "approved"] })) use(body, body.workingFolder);
  for (const { body } of await ledger.list("draft", { states: ["open"] })) use(body, body.folder);
  for (const { body } of await ledger.list("schedule", { states: ["active"] })) use(body);
  return { conversationIds, scopes, folders };
}

/** True while the ledger has a turn of the conversation, which `/remora why` and the dashboard show. */
export async function hasTurns(ledger: Ledger, conversationId: string): Promise<boolean> {
  return (await ledger.list("turn", { group: conversationId, limit: 1 })).length > 0;
}
