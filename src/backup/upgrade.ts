/**
 * The steps of an upgrade, and the way back. Each step is noted before it begins, so that an interrupted upgrade is
 * known, and `--back` undoes exactly what was done:
 *
 *   1. back up data, memory and settings
 *   2. put the new code in place
 *   3. bring the packages up to date
 *   4. try the new version on a copy of the data
 *   5. let the new version migrate the data, and check it
 */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";

const noteSchema = z.object({
  from: z.object({ commit: z.string(), version: z.string() }),
  to: z.object({ commit: z.string(), version: z.string() }),
  backup: z.string(),
  at: z.string(),
  step: z.enum(["code", "packages", "trial", "data", "done", "back"]),
  /** The new version may have migrated the data. */
  isDataTouched: z.boolean(),
});
export type UpgradeNote = z.infer<typeof noteSchema>;

export interface UpgradeWork {
  /** Resolves to the backup's path. */
  backUp(): Promise<string>;
  moveTo(commit: string): Promise<void>;
  moveBack(commit: string): Promise<void>;
  installPackages(): Promise<void>;
  /** The installed code restores the backup into a folder of its own, which opens and migrates everything. */
  tryOnCopy(backup: string): Promise<void>;
  /** The installed code checks the installation. Rejects with what fails now and did not fail before. */
  checkHealth(): Promise<void>;
  /** The installed code restores the backup over the data. */
  restore(backup: string): Promise<void>;
  say(line: string): void;
}

export interface UpgradeVersions {
  from: UpgradeNote["from"];
  to: UpgradeNote["to"];
}

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

export function isInterrupted(note: UpgradeNote | undefined): note is UpgradeNote {
  return note !== undefined && note.step !== "done" && note.step !== "back";
}

/** Rejects after it has put everything back, or with what to do by hand if that failed too. */
export async function upgrade(folder: string, { from, to }: UpgradeVersions, work: UpgradeWork): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  work.say("Backing up …");
  const backup = await work.backUp();
  const at = new Date().toISOString();
  const note: UpgradeNote = { from, to, backup, at, step: "code", isDataTouched: false };
  const begin = async (step: UpgradeNote["step"], isDataTouched = note.isDataTouched) => {
    Object.assign(note, { step, isDataTouched });
    await writeNote(folder, note);
  };
  await begin("code");
  try {
    work.say(`Putting Remora ${to.version} in place …`);
    await work.moveTo(to.commit);
    await begin("packages");
    work.say("Bringing packages up to date …");
    await work.installPackages();
    await begin("trial");
    work.say("Trying the new version on a copy of your data …");
    await work.tryOnCopy(backup);
    await begin("data", true);
    work.say("Migrating the data and checking the installation …");
    await work.checkHealth();
    await begin("done");
  } catch (thrown) {
    await goBackAfter(thrown, folder, note, work);
  }
}

/** Undoes an upgrade, interrupted or complete. */
export async function goBack(folder: string, note: UpgradeNote, work: UpgradeWork): Promise<void> {
  await work.moveBack(note.from.commit);
  await work.installPackages();
  if (note.isDataTouched) await work.restore(note.backup);
  await writeNote(folder, { ...note, step: "back" });
}

async function goBackAfter(thrown: unknown, folder: string, note: UpgradeNote, work: UpgradeWork): Promise<never> {
  work.say(`That failed: ${messageOf(thrown)}`);
  work.say(`Going back to Remora ${note.from.version} …`);
  try {
    await goBack(folder, note, work);
  } catch (again) {
    throw new RemoraError({
      code: "upgrade.stuck",
      place: "upgrade",
      message:
        `the upgrade failed (${messageOf(thrown)}), and going back failed too: ${messageOf(again)}. ` +
        `Solve that and run: npm run -s remora -- upgrade --back. Your data is also in ${note.backup}`,
      cause: again,
    });
  }
  const data = note.isDataTouched
    ? "Code and data are as they were before."
    : "The code is as it was before; the data was not touched.";
  throw new RemoraError({
    code: "upgrade.failed",
    place: "upgrade",
    message: `to Remora ${note.to.version} failed: ${messageOf(thrown)}\n${data} Start Remora ${note.from.version} again.`,
    cause: thrown,
  });
}

async function writeNote(folder: string, note: UpgradeNote): Promise<void> {
  await writeFileAtomic(noteFile(folder), `${JSON.stringify(note, null, 1)}\n`);
}

function noteFile(folder: string): string {
  return join(folder, "upgrade.json");
}
