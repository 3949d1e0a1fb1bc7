/** Opens the source of skills. A git clone fetches one commit, and runs without hooks, submodules or prompts. */
import { type Dirent, existsSync, readdirSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { RemoraError } from "../lib/errors.ts";

export interface SkillSource {
  /** The folder, or the clone. */
  folder: string;
  /** Folders with skills, in the order in which they take precedence. */
  roots: string[];
  /** Of a git repository. */
  commit?: string;
  /** The source without its password. */
  shown: string;
  remove(): Promise<void>;
}

const cloneTimeoutMs = 300_000;
const maxDepth = 8;
const maxFolders = 5_000;
/** Folders below a root that the loader reads by itself. */
const loaderDepth = 4;
const ignoredNames = new Set([".git", "node_modules"]);

export async function openSource(written: string): Promise<SkillSource> {
  const address = gitAddress(written) ?? bareAddress(written);
  if (address === undefined) {
    const folder = resolve(written);
    if (!existsSync(folder) || !statSync(folder).isDirectory()) throw notThere(written);
    return { folder, roots: rootsIn(folder), shown: folder, remove: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), "remora-add-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const clone = join(folder, "repository");
    await cloneInto(address, clone, written);
    return {
      folder: clone,
      roots: rootsIn(clone),
      shown: withoutPassword(address),
      commit: await commitOf(clone),
      remove,
    };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

/** Finds skills wherever a repository keeps them: in folders that begin with a dot, and at deeper levels. */
function rootsIn(top: string): string[] {
  const roots = new Set<string>();
  let level = [top];
  for (let [depth, seen] = [0, 0]; level.length > 0 && depth <= maxDepth && seen < maxFolders; depth++) {
    seen += level.length;
    level = level.flatMap((folder) => {
      const entries = entriesOf(folder);
      if (!entries.some((entry) => entry.isFile() && entry.name.toLowerCase() === "skill.md")) {
        const below = entries.filter((entry) => entry.isDirectory() && !ignoredNames.has(entry.name));
        return below.map(({ name }) => join(folder, name)).sort();
      }
      const path = relative(top, folder);
      const isSeenByLoader = !path.split(sep).some((part) => part.startsWith(".")) && depth <= loaderDepth;
      if (!isSeenByLoader) roots.add(dirname(folder));
      return [];
    });
  }
  return [top, ...roots];
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

async function commitOf(clone: string): Promise<string> {
  const { stdout } = await execa("git", ["-C", clone, "rev-parse", "HEAD"], { stdin: "ignore" });
  return stdout.trim();
}

function gitAddress(written: string): string | undefined {
  if (/^(?:https|ssh|file):\/\//i.test(written)) return written;
  const isOther = /^[a-z][a-z0-9+.-]*:(?:\/\/|:)/i.test(written);
  if (isOther) {
    throw new RemoraError({
      code: "skills.source",
      place: withoutPassword(written),
      message: "this kind of address is not supported: use https, ssh or file, or a folder",
    });
  }
  // Services show addresses as `git@host:path`. Paths with a colon in the first part must be written as `./a:b`.
  return /^[\w.-]+@[\w.-]+:[^\s]+$/.test(written) && !existsSync(written) ? written : undefined;
}

function bareAddress(written: string): string | undefined {
  const folder = resolve(written);
  const isBare = ["HEAD", "objects", "refs"].every((part) => existsSync(join(folder, part)));
  return isBare ? pathToFileURL(folder).href : undefined;
}

function notThere(written: string): RemoraError {
  return new RemoraError({
    code: "skills.source",
    place: withoutPassword(written),
    message: "there is no such folder. Give a folder, or the address of a git repository (https, ssh or file)",
  });
}

async function cloneInto(address: string, folder: string, written: string): Promise<void> {
  const settings = [
    "protocol.allow=never",
    ...["https", "ssh", "file"].map((protocol) => `protocol.${protocol}.allow=always`),
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
  ].flatMap((setting) => ["-c", setting]);
  const options = ["--depth", "1", "--single-branch", "--no-tags", "--no-recurse-submodules", "--template=", "--quiet"];
  const { failed, timedOut, stderr } = await execa("git", [...settings, "clone", ...options, "--", address, folder], {
    reject: false,
    timeout: cloneTimeoutMs,
    stdin: "ignore",
    killDescendants: true,
    env: {
      GIT_TERMINAL_PROMPT: "0",
      GIT_LFS_SKIP_SMUDGE: "1",
      GIT_SSH_COMMAND: process.env.GIT_SSH_COMMAND ?? "ssh -o BatchMode=yes",
    },
  });
  if (!failed) return;
  const why = timedOut
    ? `it took longer than ${cloneTimeoutMs / 60_000} minutes`
    : withoutPassword(stderr.trim() || "git failed");
  throw new RemoraError({
    code: "skills.clone",
    place: withoutPassword(written),
    message: `could not be cloned: ${why}`,
  });
}

function withoutPassword(text: string): string {
  return text.replace(/(\b[a-z]+:\/\/)[^\s/@]*@/gi, "$1");
}
