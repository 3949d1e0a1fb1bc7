/**
 * What the folder already makes run by itself under another name: targets of links with a listed name, and what git's
 * configuration points at. Reads a bounded part of the folder: the places where such links usually are come first.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Effect } from "../effects/effect.ts";
import { decodePath, encodeBytes, type RawPath } from "../effects/raw-path.ts";
import { readings } from "./git-folders.ts";

export interface AutorunTargets {
  has(effect: Pick<Effect, "raw" | "type">): boolean;
}

const maxEntries = 3_000;
const maxHops = 10;
const maxConfigBytes = 100_000;
const maxIncluded = 5;
const maxParents = 6;
const maxParentsOfLinks = 2;
const maxEntriesAbove = 300;
const maxHooks = 60;
const maxModules = 50;
const maxWord = 1_000;

/** What programs add to a name by themselves to find the program. */
const programEnding =
  /\.(?:sh|bash|zsh|fish|ksh|csh|py|pyw|pyc|[cm]?js|[cm]?ts|[jt]sx|json|node|rb|pl|pm|php|lua|tcl|awk|sed|r|jl|exs?|go|java|jar|class|exe|com|bat|cmd|ps1|psm1|vbs|so|dll|dylib|wasm)$/;

/**
 * Takes a path with everything below it, or only a file of that name, with the ending of a program or without. In an
 * unknown folder it can't be told which programs git runs, so it may be any of them.
 */
type Found = ((target: string) => void) & { file(target: string): void; unknown(folder: string): void };

export function findAutorunTargets(base: string, isListed: (path: RawPath) => boolean): AutorunTargets {
  const root = realPathOf(base);
  const targets = new Set<string>();
  const files = new Set<string>();
  const adderTo = (found: Set<string>) => (target: string) => {
    const inside = relative(root, target);
    if (inside === "" || inside.startsWith("..") || inside.split(sep).includes(".git")) return;
    found.add(comparable(rawOf(inside)));
  };
  const unknown = new Set<string>();
  const addUnknown = (folder: string) => {
    const inside = relative(root, folder);
    unknown.add(inside.startsWith("..") ? "" : comparable(rawOf(inside)));
  };
  const add: Found = Object.assign(adderTo(targets), { file: adderTo(files), unknown: addUnknown });
  for (const link of linksIn(root, add)) {
    if (isListed(rawOf(relative(root, link)))) addChain(link, add);
  }
  // Above it too, because the folder may be a part of a repository.
  for (
    let folder = dirname(root), up = 0;
    up < maxParents && folder !== dirname(folder);
    folder = dirname(folder), up += 1
  ) {
    const git = join(folder, ".git");
    const kind = kindOf(git);
    if (kind === "folder") addOfGit(git, add);
    else if (kind === "other") add.unknown(folder);
    if (kind === "none" || up >= maxParentsOfLinks) continue;
    for (const entry of entriesOf(folder).slice(0, maxEntriesAbove))
      if (entry.isSymbolicLink() && isListed(rawOf(entry.name))) addChain(join(folder, entry.name), add);
  }
  return {
    has({ raw, type }) {
      if (type === "folder" || targets.size + files.size + unknown.size === 0) return false;
      const path = comparable(raw);
      const isUnknown = [...unknown].some((folder) => folder === "" || path.startsWith(`${folder}/`));
      if (isUnknown && (isProgramName(path) || isExecutable(root, raw))) return true;
      if (files.has(path) || (programEnding.test(path) && files.has(path.replace(programEnding, "")))) return true;
      const parts = path.split("/");
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
function linksIn(root: string, add: Found): string[] {
  const links: string[] = [];
  const folders = [root];
  let left = maxEntries;
  for (let folder = folders.shift(); folder !== undefined && left > 0; folder = folders.shift()) {
    const entries = entriesOf(folder).slice(0, left);
    left -= entries.length;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.name === ".git" && !entry.isDirectory()) add.unknown(folder);
      if (entry.isSymbolicLink()) links.push(path);
      else if (!entry.isDirectory() || entry.name === "node_modules") continue;
      else if (entry.name === ".git") addOfGit(path, add);
      else if (entry.name.startsWith(".")) folders.unshift(path);
      else folders.push(path);
    }
  }
  return links;
}

/** Hooks that are links, what hooks say, and every file or folder that the configuration may name. */
function addOfGit(git: string, add: Found): void {
  addOfRepository(git, dirname(git), add);
  const modules = entriesOf(join(git, "modules"));
  for (const { name } of modules.slice(0, maxModules)) addOfRepository(join(git, "modules", name), dirname(git), add);
  if (modules.length > maxModules) add.unknown(dirname(git));
}

function addOfRepository(git: string, top: string, add: Found): void {
  const hooks = join(git, "hooks");
  for (const path of [hooks, ...entriesOf(hooks).map(({ name }) => join(hooks, name))]) addChain(path, add);
  addOfHooks(hooks, top, add);
  const files = [join(git, "config"), join(git, "config.worktree")];
  for (let at = 0; at < Math.min(files.length, maxIncluded); at += 1) {
    const file = files[at] ?? "";
    addChain(file, add);
    if (isUnreadable(file, top)) add.unknown(top);
    for (const { name, value, isInclude } of settingsIn(textOf(file, top))) {
      if (isInclude) files.push(includedFile(value, dirname(file)));
      for (const target of targetsIn(value, [top, dirname(file)])) {
        add(target);
        addProgram(target, add);
        addChain(target, add);
        if (name === "hookspath") addOfHooks(target, top, add);
      }
    }
  }
  if (files.length > maxIncluded) add.unknown(top);
}

/** Their values are addresses, branches and people. */
const dataSettings: ReadonlySet<string> = new Set("url pushurl fetch push merge remote rebase name email".split(" "));

/** Git reads it from where the file is. */
function includedFile(value: string, from: string): string {
  return resolve(from, /^\s*(?:"([^"]*)"|([^#;"]*))/.exec(value)?.slice(1).join("").trim() ?? "");
}

/** Only of files that they name, because hooks also name folders that they check. */
function addOfHooks(hooks: string, repository: string, add: Found): void {
  const names = entriesOf(hooks).map(({ name }) => name);
  for (const name of names.filter((each) => !each.endsWith(".sample")).slice(0, maxHooks)) {
    const lines = textOf(join(hooks, name), repository).split(/[\r\n]+/);
    const text = lines.filter((line) => !/^\s*#(?!!)/.test(line)).join("\n");
    for (const target of targetsIn(text, [repository, hooks])) {
      addProgram(target, add);
      addChain(target, add);
    }
  }
}

/** Programs find `a` as `a.js` and the folder `a` by its first file. */
function addProgram(target: string, add: Found): void {
  for (const path of [target, ...["__main__", "__init__", "index"].map((name) => join(target, name))]) add.file(path);
}

interface Setting {
  name: string;
  value: string;
  isInclude: boolean;
}

function settingsIn(config: string): Setting[] {
  let section = "";
  const lines = config
    .replace(/^\uFEFF/, "")
    .replace(/\\\r?\n/g, " ")
    .split(/[\r\n]+/);
  return lines.flatMap((line) => {
    section = /^\s*\[\s*([\w-]+)/.exec(line)?.[1]?.toLowerCase() ?? section;
    const isInclude = section.startsWith("include") && /\bpath\s*=/i.test(line);
    const [, name = "", value = ""] = /^\s*(?:\[(?:"(?:\\.|[^"])*"|[^\]"])*\]\s*)?([\w-]+)\s*=(.*)$/.exec(line) ?? [];
    return value === "" || dataSettings.has(name.toLowerCase()) ? [] : [{ name: name.toLowerCase(), value, isInclude }];
  });
}

function targetsIn(text: string, folders: readonly string[]): Set<string> {
  return new Set([...wordsIn(text)].flatMap((word) => folders.map((folder) => resolve(folder, word))));
}

/** All that may be a path, however a shell or git reads it. What is none names nothing in the folder. */
function wordsIn(text: string): Set<string> {
  const words = new Set<string>();
  const plain = text.replace(/\\(["\\])/g, "$1");
  // Also without what a shell would put there, which is most often the folder itself.
  const here = plain.replace(/\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$\{[^}]*\}|\$\w+|%\w+%/g, ".");
  for (const each of new Set([text, plain, here, here.replace(/["']/g, ""), here.replaceAll("\\", "/")])) {
    const whole = each.trim();
    const quoted = each.split(/["'\n]+/).map((part) => part.trim());
    const escaped = (each.match(/(?:\\.|[^\s"'])+/g) ?? []).map((word) => word.replace(/\\(.)/g, "$1"));
    const runs = each.match(/[\p{L}\p{M}\p{N}._/~+@%^-]+/gu) ?? [];
    const split = each.split(/[\s"'!;&|()=]+/);
    for (const word of [whole, whole.replace(/^(["'])(.*)\1$/, "$2"), ...quoted, ...escaped, ...split, ...runs]) {
      const bare = word.replace(/^(?:-+[A-Za-z]?|[@+%^!]+)/, "");
      const module = /^[\w.]*\w\.\w+$/.test(bare) ? bare.replace(/\.(?=\w)/g, "/") : "";
      for (const name of [word, bare, module]) if (name !== "" && name.length < maxWord) words.add(name);
    }
  }
  return words;
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

function kindOf(path: string): "folder" | "other" | "none" {
  try {
    return lstatSync(path).isDirectory() ? "folder" : "other";
  } catch {
    return "none";
  }
}

function isProgramName(path: string): boolean {
  return programEnding.test(path) || !path.slice(path.lastIndexOf("/") + 1).includes(".");
}

function isExecutable(root: string, raw: RawPath): boolean {
  try {
    const found = lstatSync(join(root, ...decodePath(raw).map((name) => name.toString("utf8"))));
    return found.isFile() && (found.mode & 0o111) !== 0;
  } catch {
    return false;
  }
}

/** Too large, or outside the repository, whether it is there or not. */
function isUnreadable(file: string, repository: string): boolean {
  try {
    if (!`${realPathOf(dirname(file))}${sep}`.startsWith(`${realpathSync(repository)}${sep}`)) return true;
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return false;
    if (!realpathSync(file).startsWith(`${realpathSync(repository)}${sep}`)) return true;
    return statSync(file).size > maxConfigBytes;
  } catch {
    return true;
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
