/** The note that says how far an upgrade has come. `cli/interrupted-upgrade.mjs` reads it too. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";

const noteSchema = z.object({
  from: z.object({ commit: z.string(), version: z.string() }),
  to: z.object({ commit: z.string(), version: z.string() }),
  at: z.string(),
  /** The process that upgrades, or goes back. */
  pid: z.number().default(0),
  step: z.enum(["stop", "backup", "code", "packages", "trial", "data", "start", "done", "returning", "back"]),
  /** Empty before there is one. */
  backup: z.string(),
  isCodeTouched: z.boolean().default(true),
  /** The new version may have migrated the data. */
  isDataTouched: z.boolean(),
  /** The service ran before, so it has to run afterwards. */
  wasRunning: z.boolean().default(false),
});
export type UpgradeNote = z.infer<typeof noteSchema>;

export async function readNote(folder: string): Promise<UpgradeNote | undefined> {
  try {
    return noteSchema.parse(JSON.parse(await readFile(noteFile(folder), "utf8")));
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw new RemoraError({
      code: "upgrade.note",
      place: noteFile(folder),
      message: `can't be read (${messageOf(thrown)}). If no upgrade was interrupted, delete it`,
      cause: thrown,
    });
  }
}

export async function writeNote(folder: string, note: UpgradeNote): Promise<void> {
  await writeFileAtomic(noteFile(folder), `${JSON.stringify(note, null, 1)}\n`);
}

function noteFile(folder: string): string {
  return join(folder, "upgrade.json");
}
