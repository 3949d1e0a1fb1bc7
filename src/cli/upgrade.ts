/**
 * `remora upgrade` shows what a newer version changes, asks, backs up, upgrades a git checkout, checks it, and goes back
 * if something fails. Elsewhere it says how to upgrade. Everything is imported at the start, because the code is
 * replaced while this runs.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { promisify } from "node:util";
import { changesSince } from "../backup/changelog.ts";
import { createGitCheckout, type Target } from "../backup/git-checkout.ts";
import { goBack, isInterrupted, readNote, type UpgradeWork, upgrade } from "../backup/upgrade.ts";
import type { Environment } from "../config/environment.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import { type DataLock, lockData } from "../storage/sqlite/data-lock.ts";
import { backUp } from "./backup.ts";
import { placesOf } from "./finish-restore.ts";
import { settingsFor } from "./settings.ts";
import { installedVersion } from "./version.ts";
import { isInstalledPackage } from "./working-folder.mjs";

export interface UpgradeFlags {
  check?: boolean;
  yes?: boolean;
  back?: boolean;
  to?: string;
}

const maxOutputBytes = 64 * 1024 * 1024;

export async function upgradeCommand(env: Environment, root: string, flags: UpgradeFlags): Promise<void> {
  const elsewhere = adviceOutsideCheckout(root);
  if (elsewhere !== undefined) {
    say(elsewhere);
    return;
  }
  const folder = join(root, "backups");
  const git = createGitCheckout(root);
  const note = await readNote(folder);
  const work = createWork(env, root, git);
  if (flags.back) {
    if (note === undefined || note.step === "back") throw failure("no-way-back", "there is no upgrade to go back from");
    const data = note.isDataTouched
      ? ` This also puts back the data of ${shortTime(note.at)}; what came later is kept in folders named before-restore-….`
      : "";
    say(`Remora ${note.to.version} → ${note.from.version}.${data}`);
    if (!(flags.yes || (await ask("Go back now? [y/N] ")))) return;
    work.lock();
    await goBack(folder, note, work);
    say(`Remora ${note.from.version} is back. Start it now.`);
    return;
  }
  if (isInterrupted(note))
    throw failure(
      "interrupted",
      `the upgrade to Remora ${note.to.version} of ${shortTime(note.at)} was interrupted. Go back first: npm run -s remora -- upgrade --back`,
    );
  const target = await git.findTarget(installedVersion, flags.to);
  if (target === undefined) {
    say(`Remora ${installedVersion} is the newest version.`);
    return;
  }
  say(describe(target));
  if (flags.check) return;
  say(`\nThis backs up everything, installs the new version, tries it on a copy of your data, and checks it.`);
  say("If a step fails, code and data are put back.");
  if (!(flags.yes || (await ask("Upgrade now? [y/N] ")))) return;
  work.lock();
  await work.noteHealth();
  const from = { commit: await git.commit(), version: installedVersion };
  await upgrade(folder, { from, to: target }, work);
  say(`Remora ${target.version} is installed. Start it now. To go back: npm run -s remora -- upgrade --back`);
}

function describe({ name, version, changelog }: Target): string {
  const changes = changesSince(changelog, installedVersion, !/^v\d/.test(name));
  return [
    `Remora ${installedVersion} → ${version} (${name})`,
    "",
    changes === "" ? "The changelog says nothing about this version." : changes,
  ].join("\n");
}

function createWork(env: Environment, root: string, git: ReturnType<typeof createGitCheckout>) {
  const failing = new Set<string>();
  /** Keeps the agent from starting in between. */
  let lock: DataLock | undefined;
  /** The code that is in place now, in a process of its own. */
  const remora = (...args: string[]) => run(root, nodeOf(root), ["src/remora.mjs", ...args]);

  async function failingChecks(): Promise<{ name: string; detail: string }[]> {
    const { stdout } = await remora("doctor", "--json").catch((thrown: unknown) => {
      // A failing check also ends with an exit code.
      if (typeof thrown === "object" && thrown !== null && "stdout" in thrown && String(thrown.stdout).startsWith("{"))
        return { stdout: String(thrown.stdout) };
      throw thrown;
    });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; detail: string }[] };
    return checks.filter(({ state }) => state === "failed");
  }

  const work: UpgradeWork & { lock(): void; noteHealth(): Promise<void> } = {
    lock: () => {
      lock = lockOf(placesOf(env, root).data);
    },
    /** What fails already does not count against the new version. */
    async noteHealth() {
      for (const { name } of await failingChecks()) failing.add(name);
    },
    async backUp() {
      const { file } = await backUp(settingsFor(env, root), root, join(root, "backups"), true);
      return file;
    },
    moveTo: git.moveTo,
    moveBack: git.moveBack,
    installPackages: async () => void (await run(root, nodeOf(root), ["scripts/bootstrap.mjs"])),
    async tryOnCopy(backup) {
      const copy = `${backup}.trial`;
      try {
        await remora("restore", backup, "--into", copy);
      } finally {
        await rm(copy, { recursive: true, force: true });
      }
    },
    async checkHealth() {
      const worse = (await failingChecks()).filter(({ name }) => !failing.has(name));
      if (worse.length > 0) throw new Error(worse.map(({ name, detail }) => `${name}: ${detail}`).join("; "));
    },
    async restore(backup) {
      // The command takes the lock itself.
      lock?.release();
      await remora("restore", backup, "--replace");
    },
    say,
  };
  return work;
}

/** `bootstrap.mjs` may have brought a newer Node. */
function nodeOf(root: string): string {
  const own = join(root, "node_modules", ".bin", "node");
  return existsSync(own) ? own : process.execPath;
}

async function run(root: string, program: string, args: string[]): Promise<{ stdout: string }> {
  try {
    return await promisify(execFile)(program, args, { cwd: root, maxBuffer: maxOutputBytes });
  } catch (thrown) {
    const { stdout = "", stderr = "" } = thrown as { stdout?: string; stderr?: string };
    throw Object.assign(new Error(reasonIn(stderr) ?? messageOf(thrown)), { stdout });
  }
}

/** Remora's own errors begin with a place in brackets; a crash has a line with the error among those of the stack. */
function reasonIn(stderr: string): string | undefined {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  return lines.find((line) => line.startsWith("[")) ?? lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1);
}

function lockOf(data: string): DataLock | undefined {
  try {
    return existsSync(data) ? lockData(data) : undefined;
  } catch (thrown) {
    if (codeOf(thrown) !== "start.data-in-use") throw thrown;
    const [who] = messageOf(thrown)
      .replace(/^\[.*?\] another /, "")
      .split(" is already");
    throw failure("running", `${who} is running. Stop it, then run this again`);
  }
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

async function ask(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw failure("unasked", "there is no terminal to ask on: read the above, then add --yes");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

function shortTime(at: string): string {
  return `${at.slice(0, 16).replace("T", " ")} UTC`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function failure(code: string, message: string): RemoraError {
  return new RemoraError({ code: `upgrade.${code}`, place: "upgrade", message });
}
