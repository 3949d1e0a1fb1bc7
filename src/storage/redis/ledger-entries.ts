/** Converts the answers of ledger scripts to entries. */
import { RemoraError } from "../../lib/errors.ts";
import type { LedgerEntry, LedgerKind, LedgerKinds } from "../../ports/ledger.ts";
import { parseRecord } from "../parse-record.ts";
import { missingJournal } from "./journal-files.ts";
import type { ScriptAnswer } from "./script.ts";

/**
 * In the order in which scripts return them: state, body, group, sequence, version, created, updated, journal. The last one
 * is empty unless the entry is a stub.
 */
export type Fields = [string, string, string, string, string, string, string, string];

export interface EntryRow {
  id: string;
  sequence: string;
  /** Undefined if another caller has removed the entry. */
  fields: Fields | undefined;
}

export function entryOf<K extends LedgerKind>(kind: K, id: string, fields: Fields, place: string): LedgerEntry<K> {
  const [state, body, group, sequence, , created, updated] = fields;
  return {
    id,
    // These casts are safe, because only our scripts write entries.
    state: state as LedgerKinds[K]["state"],
    body: parseBody(kind, id, body, place) as LedgerKinds[K]["body"],
    group,
    sequence: Number(sequence),
    createdAt: Number(created),
    updatedAt: Number(updated),
  };
}

function parseBody(kind: string, id: string, body: string, place: string): unknown {
  try {
    return parseRecord(body);
  } catch (cause) {
    throw new RemoraError({
      code: "storage.corrupt",
      place,
      message: `has an entry that can't be read (${kind} ${id}). Another program writes keys with Remora's prefix. Restore a backup, or delete that key.`,
      cause,
    });
  }
}

/** True if the record itself can't be read, now or later. */
export function isDamage(thrown: unknown): boolean {
  return thrown instanceof RemoraError && ["storage.corrupt", missingJournal].includes(thrown.code);
}

export function fieldsOf(answer: ScriptAnswer | undefined): Fields | undefined {
  if (!Array.isArray(answer) || answer.length !== 8 || !answer.every((field) => typeof field === "string"))
    return undefined;
  return answer as Fields;
}

export function rowsOf(answer: ScriptAnswer): EntryRow[] {
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((row) => {
    if (!Array.isArray(row)) return [];
    const [id, sequence, ...fields] = row;
    return [{ id: String(id), sequence: String(sequence), fields: fieldsOf(fields) }];
  });
}
