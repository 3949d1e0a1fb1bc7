/**
 * The steps of an upgrade, and the way back. Each step is noted before it begins, so that an interrupted upgrade is
 * known, and `--back` undoes exactly what was done:
 *
 *   1. stop the service, if it runs
 *   2. back up data, memory and settings
 *   3. put the new code in place
 *   4. bring the packages up to date
 *   5. try the new version on a copy of the data
 *   6. let the new version migrate the data, and check it
 *   7. start the service, if it ran, and wait until it is ready
 */
import { mkdir } from "node:fs/promises";
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { GitCheckout } from "./git-checkout.ts";
import { type UpgradeNote, writeNote } from "./upgrade-note.ts";

export interface UpgradeWork extends Pick<GitCheckout, "moveTo" | "moveBack"> {
  /** Does nothing if the service does not run. Afterwards, nothing else can use the data. */
  stop(): Promise<void>;
  /** Resolves to the backup's path. */
  backUp(): Promise<string>;
  installPackages(): Promise<void>;
  /** The installed code restores the backup into a folder of its own, which opens and migrates everything. */
  tryOnCopy(backup: string): Promise<void>;
  /** The installed code checks the installation. Rejects with what fails now and did not fail before. */
  checkHealth(): Promise<void>;
  /** Starts the service, and waits until that process says that it is ready. Rejects with what it says otherwise. */
  start(): Promise<void>;
  /** The installed code restores the backup over the data. */
  restore(backup: string): Promise<void>;
  say(line: string): void;
}

export interface UpgradeVersions {
  from: UpgradeNote["from"];
  to: UpgradeNote["to"];
  wasRunning: boolean;
}

/** Rejects after it has put everything back, or with what to do by hand if that failed too. */
export async function upgrade(folder: string, versions: UpgradeVersions, work: UpgradeWork): Promise<void> {
  const { to, wasRunning } = versions;
  const note: UpgradeNote = {
    ...{ ...versions, at: new Date().toISOString(), pid: process.pid, step: "stop", backup: "" },
    ...{ isCodeTouched: false, isDataTouched: false },
  };
  const begin = async (step: UpgradeNote["step"], changes: Partial<UpgradeNote> = {}) => {
    Object.assign(note, changes, { step });
    await writeNote(folder, note);
  };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await begin("stop");
  try {
    if (wasRunning) work.say("Stopping the service …");
    await work.stop();
    await begin("backup");
    work.say("Backing up …");
    const backup = await work.backUp();
    await begin("code", { backup, isCodeTouched: true });
    work.say(`Putting Remora ${to.version} in place …`);
    await work.moveTo(to.commit);
    await begin("packages");
    work.say("Bringing packages up to date …");
    await work.installPackages();
    await begin("trial");
    work.say("Trying the new version on a copy of your data …");
    await work.tryOnCopy(backup);
    await begin("data", { isDataTouched: true });
    work.say("Migrating the data and checking the installation …");
    await work.checkHealth();
    if (wasRunning) {
      await begin("start");
      work.say(startingText);
      await work.start();
    }
    await begin("done");
  } catch (thrown) {
    await goBackAfter(thrown, folder, note, work);
  }
}

const startingText = "Starting the service, and waiting until it is ready …";

/** Starts and checks an upgrade that was interrupted in its last step. */
export async function finishUpgrade(folder: string, note: UpgradeNote, work: UpgradeWork): Promise<void> {
  try {
    work.say(startingText);
    await work.start();
    await writeNote(folder, { ...note, step: "done" });
  } catch (thrown) {
    await goBackAfter(thrown, folder, note, work);
  }
}

/** Undoes an upgrade, interrupted or complete. Can be repeated. Resolves to why the service does not run again, if so. */
export async function goBack(folder: string, note: UpgradeNote, work: UpgradeWork): Promise<string | undefined> {
  const going: UpgradeNote = { ...note, pid: process.pid, step: "returning" };
  // On a full disk, the note of an unfinished step remains, which leads here too.
  await writeNote(folder, going).catch((thrown: unknown) => {
    if (note.step === "done") throw thrown;
  });
  // What nobody touched may go on running.
  if (isTouched(note)) await work.stop();
  if (note.isCodeTouched) {
    await work.moveBack(note.from.commit, note.to.commit);
    await work.installPackages();
  }
  if (note.isDataTouched) await work.restore(note.backup);
  await writeNote(folder, { ...going, step: "back" });
  if (!note.wasRunning) return undefined;
  work.say(startingText);
  return await work.start().then(() => undefined, messageOf);
}

/** Before that, going back only starts the service again. */
export function isTouched({ isCodeTouched, isDataTouched }: UpgradeNote): boolean {
  return isCodeTouched || isDataTouched;
}

async function goBackAfter(thrown: unknown, folder: string, note: UpgradeNote, work: UpgradeWork): Promise<never> {
  work.say(`That failed: ${messageOf(thrown)}`);
  if (isTouched(note)) work.say(`Going back to Remora ${note.from.version} …`);
  let problem: string | undefined;
  try {
    problem = await goBack(folder, note, work);
  } catch (again) {
    const saved = note.backup === "" ? "" : ` Your data is also in ${note.backup}`;
    throw new RemoraError({
      code: "upgrade.stuck",
      place: "upgrade",
      message:
        `the upgrade failed (${messageOf(thrown)}), and going back failed too: ${messageOf(again)}. ` +
        `Solve that and run: npm run -s remora -- upgrade --back.${saved}`,
      cause: again,
    });
  }
  throw new RemoraError({
    code: "upgrade.failed",
    place: "upgrade",
    message: `to Remora ${note.to.version} failed: ${messageOf(thrown)}\n${afterwards(note, problem)}`,
    cause: thrown,
  });
}

function afterwards(note: UpgradeNote, problem?: string): string {
  const { isCodeTouched, isDataTouched, wasRunning, from } = note;
  const what = isDataTouched
    ? "Code and data are as they were before."
    : isCodeTouched
      ? "The code is as it was before; the data was not touched."
      : "Nothing was changed.";
  if (problem !== undefined) return `${what} But ${problem}`;
  if (!isTouched(note) && !wasRunning) return what;
  return `${what} ${wasRunning ? `Remora ${from.version} runs again.` : `Start Remora ${from.version} again.`}`;
}
