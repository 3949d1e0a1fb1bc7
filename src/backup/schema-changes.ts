/** Says which databases a newer version migrates. Both versions list theirs in `src/storage/schema-versions.json`. */
import { z } from "zod";
import { parseJson } from "../lib/json.ts";

export const schemaVersionsFile = "src/storage/schema-versions.json";

const schema = z.record(z.string(), z.number());

/** `from` and `to` are the texts of that file; empty if a version has none. Returns one line for people. */
export function describeSchemaChanges(from: string, to: string): string {
  const [before, after] = [versionsIn(from), versionsIn(to)];
  if (after === undefined) return "Data: this version does not say whether it changes the format of your data.";
  const changes = Object.entries(after).flatMap(([file, version]) => {
    const old = before?.[file];
    if (old === version) return [];
    return [old === undefined ? `${file} (new, format ${version})` : `${file} (format ${old} → ${version})`];
  });
  if (changes.length === 0) return "Data: the format of your data stays the same.";
  return `Data: this version changes ${changes.join(" and ")}. Older versions can't read it afterwards; --back restores the backup.`;
}

function versionsIn(text: string): Record<string, number> | undefined {
  return schema.safeParse(parseJson(text)).data;
}
