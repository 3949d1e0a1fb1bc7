/**
 * `remora upgrade` shows what a newer version changes, asks, stops the service, backs up, upgrades a git checkout, starts
 * and checks it, and goes back if something fails. Elsewhere it says how to upgrade. Everything is imported at the start, because the code is
 * replaced while this runs.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { changesSince } from "../backup/changelog.ts";
import { createGitCheckout, type Target } from "../backup/git-checkout.ts";
import { finishUpgrade, goBack, isTouched, upgrade } from "../backup/upgrade.ts";
import { readNote, type UpgradeNote } from "../backup/upgrade-note.ts";
import type { Environment } from "../config/environment.ts";
import { upperFirst } from "../lib/text/sentence.ts";
import { askFor, isAgreed } from "./ask-on-terminal.ts";
import { interruptedUpgrade } from "./interrupted-upgrade.mjs";
import { createUpgradeWork, type InstallationWork, upgradeError } from "./upgrade-work.ts";
import { installedVersion } from "./version.ts";
import { isInstalledPackage } from "./working-folder.mjs";

export interface UpgradeFlags {
  check?: boolean;
  yes?: boolean;
  back?: boolean;
  to?: string;
}

export async function upgradeCommand(env: Environment, root: string, flags: UpgradeFlags): Promise<void> {
  const elsewhere = adviceOutsideCheckout(root);
  if (elsewhere !== undefined) {
    say(elsewhere);
    return;
  }
  const folder = join(root, "backups");
  const git = createGitCheckout(root);
  const note = await readNote(folder);
  const work = createUpgradeWork(env, root, git);
  if (flags.back) {
    await goBackCommand(folder, note, work, flags);
    return;
  }
  const interrupted = interruptedUpgrade(root);
  if (interrupted !== undefined && note?.step === "start") {
    say(`${upperFirst(interrupted.what)}. Finishing it.`);
    await work.look();
    await finishUpgrade(folder, note, work);
    say(doneText(note.to.version, note.wasRunning));
    return;
  }
  if (interrupted !== undefined) throw upgradeError("interrupted", `${interrupted.what}. ${interrupted.todo}`);
  const target = await git.findTarget(installedVersion, flags.to);
  if (target === undefined) {
    say(`Remora ${installedVersion} is the newest version.`);
    return;
  }
  say(describe(target));
  if (flags.check) return;
  await work.checkStoppable();
  say(
    "\nThis stops the service, backs up everything, installs the new version, tries it on a copy of your data, and starts it.",
  );
  say("If a step fails, code and data are put back.");
  if (!(flags.yes || (await isAgreed("Upgrade now?", askFor("upgrade"))))) return;
  const wasRunning = await work.look();
  const from = { commit: await git.commit(), version: installedVersion };
  await upgrade(folder, { from, to: { commit: target.commit, version: target.version }, wasRunning }, work);
  say(doneText(target.version, wasRunning));
}

async function goBackCommand(
  folder: string,
  note: UpgradeNote | undefined,
  work: InstallationWork,
  { yes }: UpgradeFlags,
): Promise<void> {
  if (note === undefined || note.step === "back")
    throw upgradeError("no-way-back", "there is no upgrade to go back from");
  const { from, to, wasRunning } = note;
  const data = note.isDataTouched
    ? ` This also puts back the data of ${shortTime(note.at)}; what came later is kept in folders named before-restore-….`
    : "";
  if (isTouched(note)) {
    await work.checkStoppable();
    say(`Remora ${to.version} → ${from.version}.${data}`);
    if (!(yes || (await isAgreed("Go back now?", askFor("upgrade"))))) return;
  } else say("The upgrade was interrupted before it changed anything.");
  // After an interruption, the code in place must not open the data: it could migrate it.
  const runs = wasRunning || (note.step === "done" && (await work.look().catch(() => false)));
  const problem = await goBack(folder, { ...note, wasRunning: runs }, work);
  if (problem !== undefined) throw upgradeError("not-ready", `Remora ${from.version} is back, but ${problem}`);
  if (!isTouched(note) && !runs) return;
  say(`Remora ${from.version} is back${runs ? " and ready" : ". Start it now"}.`);
}

function doneText(version: string, wasRunning: boolean): string {
  const state = wasRunning ? "is installed, runs and is ready." : "is installed. Start it now.";
  return `Remora ${version} ${state} To go back: npm run -s remora -- upgrade --back`;
}

function describe({ name, version, changelog, changelogHere, schemaChanges }: Target): string {
  const options = { version: installedVersion, withUnreleased: !/^v\d/.test(name), known: changelogHere };
  const changes = changesSince(changelog, options);
  return [
    `Remora ${installedVersion} → ${version} (${name})`,
    "",
    changes === "" ? "The changelog has nothing new." : changes,
    "",
    schemaChanges,
  ].join("\n");
}

function adviceOutsideCheckout(root: string): string | undefined {
  if (existsSync(join(root, ".git"))) return undefined;
  if (existsSync("/.dockerenv") || existsSync("/run/.containerenv"))
    return [
      "This is a container, so a newer version is a newer image. On the machine that runs it:",
      "  docker compose exec remora node src/remora.mjs backup /tmp/remora.tar.gz --with-secrets",
      "  docker compose cp remora:/tmp/remora.tar.gz .",
      "  docker compose pull && docker compose up -d",
    ].join("\n");
  if (isInstalledPackage())
    return [
      `This is Remora ${installedVersion}, installed by npm. Back up, then install the newer version:`,
      "  remora backup FILE --with-secrets",
      "  npm install -g remora@latest && remora doctor",
    ].join("\n");
  return `${root} is not a git checkout, so it can't be upgraded. Clone Remora again, and restore a backup there.`;
}

function shortTime(at: string): string {
  return `${at.slice(0, 16).replace("T", " ")} UTC`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
