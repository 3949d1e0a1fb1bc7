/** What the steps of an upgrade do: the service, the backup, and commands of the code that is in place. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { GitCheckout } from "../backup/git-checkout.ts";
import type { UpgradeWork } from "../backup/upgrade.ts";
import type { Environment } from "../config/environment.ts";
import { isAlive, readRuns } from "../health/last-run.ts";
import { readyz, waitUntilReady } from "../health/wait-until-ready.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import { findInstalledService, type InstalledService } from "../service/installed.ts";
import { runProgram } from "../service/run-program.ts";
import { type DataLock, lockData } from "../storage/sqlite/data-lock.ts";
import { backUp } from "./backup.ts";
import { placesOf } from "./finish-restore.ts";
import { settingsFor } from "./settings.ts";

export interface InstallationWork extends UpgradeWork {
  /** Rejects if Remora runs and is not the service, because only people can stop that one. */
  checkStoppable(): Promise<void>;
  /** Remembers what fails already, because that does not count against the new version. Resolves to whether the service runs. */
  look(): Promise<boolean>;
}

const maxOutputBytes = 64 * 1024 * 1024;
/** The unit's TimeoutStartSec is longer, but people wait for this. */
const maxReadyMs = 120_000;

export function createUpgradeWork(env: Environment, root: string, git: GitCheckout): InstallationWork {
  const failing = new Set<string>();
  const { data } = placesOf(env, root);
  /** Keeps the agent from starting in between. */
  let lock: DataLock | undefined;
  let service: InstalledService | undefined;
  /** The code that is in place now, in a process of its own. */
  const remora = (...args: string[]) => run(root, nodeOf(root), ["src/remora.mjs", ...args]);
  const findService = async () => {
    const uid = process.getuid?.() ?? -1;
    const machine = { platform: process.platform, home: homedir(), uid, run: runProgram };
    service ??= await findInstalledService({ ...machine, workingFolder: root });
    return service;
  };
  const unlock = () => {
    lock?.release();
    lock = undefined;
  };

  async function failingChecks(): Promise<{ name: string; text: string }[]> {
    const { stdout } = await remora("doctor", "--json").catch((thrown: unknown) => {
      // A failing check also ends with an exit code.
      if (typeof thrown === "object" && thrown !== null && "stdout" in thrown && String(thrown.stdout).startsWith("{"))
        return { stdout: String(thrown.stdout) };
      throw thrown;
    });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; what: string }[] };
    return checks
      .filter(({ state, name }) => state === "broken" && name !== "service")
      .map(({ name, what }) => ({ name, text: `${name}: ${what}` }));
  }

  const refuseRunning = async () => {
    const [running] = (await readRuns(data)).filter(isAlive);
    if (running === undefined) return;
    const what = `Remora is running (process ${running.pid}). Stop it (Ctrl+C where it runs), then run this again`;
    throw upgradeError("running", what);
  };

  return {
    async checkStoppable() {
      if ((await (await findService())?.isRunning()) !== true) await refuseRunning();
    },
    async look() {
      for (const { name } of await failingChecks()) failing.add(name);
      const isRunning = (await (await findService())?.isRunning()) === true;
      for (const { url } of (await readRuns(data)).filter(isAlive)) {
        const { isReady, lines } = await readyz(url);
        if (!isReady) for (const line of lines) failing.add(nameOfLine(line));
      }
      return isRunning;
    },
    async stop() {
      const found = await findService();
      if ((await found?.isRunning()) === true) await found?.stop();
      await refuseRunning();
      lock ??= lockOf(data);
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
      if (worse.length > 0) throw new Error(worse.map(({ text }) => text).join("; "));
    },
    async start() {
      unlock();
      const found = await findService();
      const since = (await found?.isRunning()) === true ? 0 : Date.now();
      await found?.start();
      const isKnown = (line: string) => failing.has(nameOfLine(line));
      const lines = await waitUntilReady({ data, since, maxMs: maxReadyMs, isKnown });
      if (lines !== undefined) throw new Error(`the started service is not ready: ${lines.join("; ")}`);
    },
    async restore(backup) {
      // The command takes the lock itself.
      unlock();
      await remora("restore", backup, "--replace");
    },
    say: (line) => void process.stdout.write(`${line}\n`),
  };
}

/** Lines of `/readyz` begin with the name of a check. */
function nameOfLine(line: string): string {
  return line.split(": ", 1)[0] ?? line;
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
    throw upgradeError("running", `${who} is running. Stop it, then run this again`);
  }
}

export function upgradeError(code: string, message: string): RemoraError {
  return new RemoraError({ code: `upgrade.${code}`, place: "upgrade", message });
}
