/** What `doctor --fix` can repair in folders. Each check says what is wrong, and its fix says what it did. */
import { chmod, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { HealthCheck } from "../ports/health.ts";
import { type DiskFolder, probeFilePrefix } from "./disk.ts";

const accessOfOthers = 0o077;
const privateFolder = 0o700;
const privateFile = 0o600;
/** A check takes seconds. What is older belongs to a process that was killed. */
const minLeftoverAgeMs = 60_000;

/** Returns nothing if the folder exists. */
export async function checkFolderExists({ name, path }: DiskFolder): Promise<HealthCheck[]> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isDirectory() === true) return [];
  if (facts !== undefined)
    return [{ name, state: "broken", what: `${path} is not a folder`, todo: "Move the file away" }];
  const fix = {
    question: `Create the folder ${path}?`,
    async run() {
      await mkdir(path, { recursive: true, mode: name === "data" ? privateFolder : 0o755 });
      return `created ${path}`;
    },
  };
  return [{ name, state: "warning", what: `there is no folder ${path} yet`, todo: "The first start creates it", fix }];
}

export async function checkPrivate(path: string, name: string): Promise<HealthCheck[]> {
  if (process.platform === "win32") return [];
  const facts = await stat(path).catch(() => undefined);
  // Everybody uses a device such as /dev/null, so its rights must stay.
  if (facts === undefined || !(facts.isFile() || facts.isDirectory())) return [];
  if ((facts.mode & accessOfOthers) === 0) return [];
  const mode = facts.isDirectory() ? privateFolder : privateFile;
  const command = `chmod ${mode.toString(8)} ${path}`;
  const fix = {
    question: `Run ${command}?`,
    async run() {
      await chmod(path, mode);
      return `only its owner can use ${path} now`;
    },
  };
  const what = `other users of this machine can read ${path}`;
  return [{ name, state: "warning", what, todo: `Run: ${command}`, fix }];
}

/** Files of write tests that a kill has left. */
export async function checkLeftovers({ name, path }: DiskFolder): Promise<HealthCheck[]> {
  const files = await readdir(path).catch(() => []);
  const old: string[] = [];
  for (const file of files.filter((each) => each.startsWith(probeFilePrefix))) {
    const facts = await stat(join(path, file)).catch(() => undefined);
    if (facts !== undefined && Date.now() - facts.mtimeMs > minLeftoverAgeMs) old.push(join(path, file));
  }
  if (old.length === 0) return [];
  const fix = {
    question: `Remove ${old.length} files of interrupted checks from ${path}?`,
    async run() {
      for (const file of old) await rm(file, { force: true });
      return `removed ${old.length} files from ${path}`;
    },
  };
  const what = `${old.length} files of interrupted checks are left in ${path}`;
  return [{ name: `leftovers ${name}`, state: "warning", what, todo: "Remove them", fix }];
}

export async function runFix({ name, fix }: HealthCheck): Promise<{ isFixed: boolean; text: string }> {
  try {
    return { isFixed: true, text: (await fix?.run()) ?? "" };
  } catch (thrown) {
    return { isFixed: false, text: `${name} could not be repaired: ${messageOf(thrown)}` };
  }
}
