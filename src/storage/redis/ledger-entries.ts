/** Converts the answers of ledger scripts to entries. */
import { RemoraError } from "../../lib/errors.ts";
import type { LedgerEntry, LedgerKind, LedgerKinds } from "../../ports/ledger.ts";
import { parseRecord } from "../parse-record.ts";
import type { ScriptAnswer } from "./script.ts";

/** In the order in which scripts return them: state, body, group, sequence, version, created, updated. */
export type Fields = [string, string, string, string, string, string, string];

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

export function fieldsOf(answer: ScriptAnswer | undefined): Fields | undefined {
  if (!Array.isArray(answer) || answer.length !== 7 || !answer.every((field) => typeof field === "string"))
    return undefined;
  return answer as Fields;
}

/** A row without fields is an entry that another caller has removed. */
export function rowsOf(answer: ScriptAnswer): { id: string; sequence: string; fields: Fields | undefined }[] {
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((row) => {
    if (!Array.isArray(row)) return [];
    const [id, sequence, ...fields] = row;
    return [{ id: String(id), sequence: String(sequence), fields: fieldsOf(fields) }];
  });
}
