/**
 * What the folder already makes run by itself under another name: targets of links with a listed name, and what git's
 * configuration points at. Reads a bounded part of the folder: the places where such links usually are come first.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Effect } from "../effects/effect.ts";
import { encodeBytes, type RawPath } from "../effects/raw-path.ts";
import { readings } from "./git-folders.ts";

export interface AutorunTargets {
  has(effect: Pick<Effect, "raw" | "type">): boolean;
}

const maxEntries = 3_000;
const maxHops = 10;
const maxConfigBytes = 100_000;
const maxIncluded = 5;
const maxParents = 6;

export function findAutorunTargets(base: string, isListed: (path: RawPath) => boolean): AutorunTargets {
  const root = realPathOf(base);
  const targets = new Set<string>();
  const add = (target: string) => {
    const inside = relative(root, target);
    if (inside === "" || inside.startsWith("..") || inside.split(sep).includes(".git")) return;
    targets.add(comparable(rawOf(inside)));
  };
  for (const link of linksIn(root, add)) {
    if (isListed(rawOf(relative(root, link)))) addChain(link, add);
  }
  // Above it too, because the folder may be a part of a repository.
  for (let folder = dirname(root), up = 0; up < maxParents && folder !== dirname(folder); up += 1) {
    addOfGit(join(folder, ".git"), add);
    folder = dirname(folder);
  }
  return {
    has({ raw, type }) {
      if (targets.size === 0 || type === "folder") return false;
      const parts = comparable(raw).split("/");
      return parts.some((_, at) => targets.has(parts.slice(0, at + 1).join("/")));
    },
  };
}

/** The path itself if it can't be resolved. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Folders with a dot, and whatever is near the root, come first. Looks into repositories on the way. */
function linksIn(root: string, add: (target: string) => void): string[] {
  const links: string[] = [];
  const folders = [root];
  let left = maxEntries;
  for (let folder = folders.shift(); folder !== undefined && left > 0; folder = folders.shift()) {
    const entries = entriesOf(folder).slice(0, left);
    left -= entries.length;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink()) links.push(path);
      else if (!entry.isDirectory() || entry.name === "node_modules") continue;
      else if (entry.name === ".git") addOfGit(path, add);
      else if (entry.name.startsWith(".")) folders.unshift(path);
      else folders.push(path);
    }
  }
  return links;
}

/** Hooks that are links, and every file or folder that the configuration may name. */
function addOfGit(git: string, add: (target: string) => void): void {
  const hooks = join(git, "hooks");
  for (const path of [hooks, ...entriesOf(hooks).map(({ name }) => join(hooks, name))]) addChain(path, add);
  const files = [join(git, "config"), join(git, "config.worktree")];
  for (let at = 0; at < Math.min(files.length, maxIncluded); at += 1) {
    const file = files[at] ?? "";
    addChain(file, add);
    for (const { name, word } of namedIn(textOf(file, dirname(git)))) {
      for (const from of [dirname(git), dirname(file)]) {
        const target = resolve(from, word);
        add(target);
        addChain(target, add);
        if (name === "path") files.push(target);
      }
    }
  }
}

/** Their values are addresses, branches and people. */
const dataSettings: ReadonlySet<string> = new Set("url pushurl fetch push merge remote rebase name email".split(" "));

/** The words of all values that may be paths. What is none names nothing in the folder. */
function namedIn(config: string): { name: string; word: string }[] {
  const lines = config.replace(/\\\r?\n/g, " ").split("\n");
  return lines.flatMap((line) => {
    const [, name = "", value = ""] = /^\s*(?:\[[^\]]*\]\s*)?([\w-]+)\s*=(.*)$/.exec(line) ?? [];
    if (dataSettings.has(name.toLowerCase())) return [];
    const whole = value.trim().replace(/^"(.*)"$/, "$1");
    const words = [whole, ...value.split(/[\s"'!;&|()=]+/)].filter((word) => word !== "");
    return words.map((word) => ({ name: name.toLowerCase(), word }));
  });
}

/** Each step of a link, so that none of its targets is missed. */
function addChain(link: string, add: (target: string) => void): void {
  let path = link;
  for (let hop = 0; hop < maxHops; hop += 1) {
    path = join(realPathOf(dirname(path)), basename(path));
    if (hop > 0) add(path);
    const target = targetOf(path);
    if (target === undefined) return;
    path = resolve(dirname(path), target);
    add(path);
  }
}

function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Empty outside the repository, because a configuration may include any file of the machine. */
function textOf(file: string, repository: string): string {
  try {
    if (!realpathSync(file).startsWith(`${realpathSync(repository)}${sep}`)) return "";
    const found = statSync(file);
    return found.isFile() && found.size <= maxConfigBytes ? readFileSync(file, "utf8") : "";
  } catch {
    return "";
  }
}

function rawOf(path: string): RawPath {
  return path
    .split(sep)
    .map((name) => encodeBytes(Buffer.from(name)))
    .join("/");
}

function comparable(raw: RawPath): string {
  return readings(raw).at(-1)?.join("/") ?? raw;
}
