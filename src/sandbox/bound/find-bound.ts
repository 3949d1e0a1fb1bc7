/**
 * Finds the files that a call can be seen to open: those that it names, those that these name in turn, and those that
 * programs open by themselves. If that can't be told, it is the whole folder.
 */
import { posix } from "node:path";
import type { CommandFiles } from "../../ports/bound-files.ts";
import { findAutorunFiles } from "../draft/autorun-files.ts";
import type { RawPath } from "../effects/raw-path.ts";
import { type FolderListing, isDocument, type ListedEntry, type MergedReader } from "./folder-listing.ts";

export interface FoundFiles {
  /** Those that the call names come first. */
  paths: RawPath[];
  isWhole: boolean;
}

export interface OpenedByCall {
  /** What a shell command may open. */
  commands: readonly CommandFiles[];
  /** Arguments that may be paths, of tools without a command. */
  names: readonly string[];
}

export interface FindOptions {
  readCommand: ReadCommandFiles;
  reader: MergedReader;
  root: string;
  /** The call will see everything as it was, so of a whole folder only what a program might run must not change. */
  holdsRest: boolean;
}

export type ReadCommandFiles = (text: string) => CommandFiles;

const maxScannedBytes = 256 * 1024;
const maxScannedFiles = 500;
const maxBases = 20;
const code = /^(?:py|pyw|[cm]?[jt]sx?|rb|p[lm]|php|lua)$/;
/** It opens files whose names are not in its text. */
const opensUnknown =
  /\b(?:glob|iglob|rglob|listdir|scandir|iterdir|readdir|readdirSync|opendir|os\.walk|walkSync|importlib|__import__|runpy|execfile|sys\.path|fast-glob|globby|FindBin|autoload)\b|\bDir[.[]|\b(?:exec|eval|compile)\s*\(|\b(?:require|import)\s*\(\s*[^"'\s)]|\$\(wildcard|\$\(shell/;

export async function findBound(
  { entries, isCut }: FolderListing,
  { commands, names }: OpenedByCall,
  { readCommand, reader, root, holdsRest }: FindOptions,
): Promise<FoundFiles> {
  const found = new Set<RawPath>();
  const waiting: RawPath[] = [];
  const bases = new Set([""]);
  /** Run as code, whatever their names are. */
  const run = new Set<RawPath>();
  const kinds = new Set<string>();
  const stems = stemsOf(entries);
  let isWhole = isCut;

  function add(path: RawPath): void {
    const entry = entries.get(path);
    if (entry === undefined || found.has(path)) return;
    if (entry.type === "folder") addAll(`folder ${path}`, (inner) => inner.startsWith(`${path}/`));
    else {
      found.add(path);
      waiting.push(path);
    }
  }

  /** Looks through the folder once for each `kind`, because texts name the same things again and again. */
  function addAll(kind: string, fits: (path: RawPath) => boolean): void {
    if (kinds.has(kind)) return;
    kinds.add(kind);
    for (const [path, { type }] of entries) if (type !== "folder" && fits(path)) add(path);
  }

  function addWord(word: string, from: readonly string[], isFolderMeant: boolean): void {
    for (const base of from) {
      const path = inFolder(base, word);
      if (path === undefined) continue;
      if (path === "") isWhole ||= isFolderMeant;
      else if (isFolderMeant || entries.get(path)?.type !== "folder") add(path);
    }
  }

  function relative(word: string): string {
    if (word === root) return ".";
    return word.startsWith(`${root}/`) ? word.slice(root.length + 1) : word;
  }

  function addFolders(words: readonly string[]): void {
    for (let isNew = true; isNew; ) {
      isNew = false;
      for (const word of words) {
        for (const base of [...bases]) {
          const path = inFolder(base, relative(word));
          const isFolder = path !== undefined && ["folder", "link"].includes(entries.get(path)?.type ?? "");
          if (path === undefined || !isFolder || bases.has(path) || bases.size >= maxBases) continue;
          bases.add(path);
          isNew = true;
        }
      }
    }
  }

  function addCommand(command: CommandFiles, at: readonly string[] = []): void {
    if (command.isOpaque) isWhole = true;
    addFolders(command.folders);
    const from = [...new Set([...at, ...bases])];
    for (const word of command.words) for (const piece of piecesOf(word)) addWord(relative(piece), from, true);
    for (const glob of command.globs) for (const base of from) addGlob(glob, base);
    for (const script of command.scripts) {
      for (const base of from) {
        const path = inFolder(base, relative(script));
        if (path === undefined || !entries.has(path)) continue;
        run.add(path);
        addBeside(posix.dirname(path), command.endings);
      }
    }
    if (command.usesGit) addAll("git", isRepositoryState);
    const runsPrograms = command.usesGit || command.scripts.length > 0;
    if (runsPrograms && !kinds.has("autorun")) {
      const autorun = autorunPaths(entries, root);
      addAll("autorun", (path) => autorun.has(path));
    }
  }

  function addGlob(glob: string, base: string): void {
    const path = inFolder(base, glob);
    if (path === undefined || path === "") return;
    const pattern = globPattern(path);
    addAll(`glob ${path}`, (inner) => pattern.test(inner));
  }

  /** A package beside a script counts with everything in it. */
  function addBeside(folder: string, endings: readonly string[]): void {
    if (endings.length === 0) return;
    const start = folder === "." ? "" : `${folder}/`;
    const isModule = (path: RawPath) => endings.includes(path.slice(path.lastIndexOf(".") + 1).toLowerCase());
    addAll(`beside ${folder} ${endings}`, (path) => path.startsWith(start) && isModule(path));
  }

  async function scan(path: RawPath): Promise<void> {
    const entry = entries.get(path);
    if (entry === undefined) return;
    const content = await reader.read(path, entry, maxScannedBytes);
    const folder = path.includes("/") ? posix.dirname(path) : "";
    if (content?.state.type === "link") return addWord(content.state.target, [folder], true);
    const isRun = run.has(path) || isHook(path);
    if (content?.whole === undefined) isWhole ||= isRun;
    if (content?.whole === undefined || (!isRun && (isDocument(path) || isRepositoryState(path)))) return;
    const text = content.whole.toString("latin1");
    if (isShellScript(path, text, isRun)) return addCommand(readCommand(content.whole.toString("utf8")), [folder]);
    if (/^.ELF|^MZ/s.test(text) || opensUnknown.test(text)) isWhole = true;
    const from = [...new Set([folder, ...bases])];
    for (const token of new Set(text.match(/[\w.@%+~\-/\x80-\xff]+/g))) {
      addWord(token, from, token.includes("/"));
      for (const base of from)
        for (const one of stems.get(inFolder(base, token.replace(/\.$/, "")) ?? "") ?? []) add(one);
    }
  }

  for (const command of commands) addFolders(command.folders);
  for (const command of commands) addCommand(command);
  for (const name of names) addWord(relative(name), [""], true);
  const isCommand = commands.length > 0;
  for (let scanned = 0; isCommand && !isWhole && waiting.length > 0; scanned += 1) {
    if (scanned >= maxScannedFiles) isWhole = true;
    else await scan(waiting.shift() as RawPath);
  }
  // Logs and notes change all the time.
  const counts = (path: RawPath) => !holdsRest || !isDocument(path);
  if (isWhole) for (const [path, { type }] of entries) if (type !== "folder" && counts(path)) found.add(path);
  return { paths: [...found], isWhole };
}

/** `@file`, `--data=@file` and `name=file;type=x` name a file as well. */
function piecesOf(word: string): string[] {
  return [...new Set([word, ...word.split(/[=@:,;<>|&()'"`\s[\]{}]+/)])].filter((piece) => piece !== "");
}

/** Undefined if it is not in the folder. The folder itself is `""`. Plain names are their own encoding. */
function inFolder(base: string, word: string): RawPath | undefined {
  if (word === "" || word.startsWith("/") || word.includes("\0") || word.includes("://")) return undefined;
  const path = posix.normalize(base === "" ? word : `${base}/${word}`).replace(/\/$/, "");
  if (path === "..") return undefined;
  if (path.startsWith("../")) return undefined;
  return path === "." ? "" : path.replaceAll("%", "%25");
}

function stemsOf(entries: FolderListing["entries"]): ReadonlyMap<string, RawPath[]> {
  const stems = new Map<string, RawPath[]>();
  for (const [path, { type }] of entries) {
    if (type === "folder") continue;
    const stem = path.replace(/(?<=[^/])\.\w+$/, "");
    if (stem !== path) stems.set(stem, [...(stems.get(stem) ?? []), path]);
  }
  return stems;
}

function globPattern(glob: string): RegExp {
  const source = glob
    .split(/(\*\*|\*|\?|\[[^\]]*\])/)
    .map((part) => {
      if (part === "**") return ".*";
      if (part === "*") return "[^/]*";
      if (part === "?") return "[^/]";
      return /^\[/.test(part) ? "." : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    })
    .join("");
  return new RegExp(`^${source}(?:/|$)`, "s");
}

function isShellScript(path: string, text: string, isRun: boolean): boolean {
  const [, interpreter] = /^#!\s*\S*?(?:\/env\s+(?:-S\s+)?)?([\w.-]+)[^\n]*/.exec(text) ?? [];
  if (interpreter !== undefined) return /^(?:ba|z|da|k|mk|a)?sh$/.test(interpreter);
  const [, ending] = /\.(\w+)$/.exec(path) ?? [];
  return /^(?:sh|bash|zsh|ksh)$/.test(ending ?? "") || (isRun && !code.test(ending ?? ""));
}

/** What git reads besides its objects, and what names them. */
function isRepositoryState(path: RawPath): boolean {
  if (/(?:^|\/)\.git$/.test(path)) return true;
  const [, inside] = /(?:^|\/)\.git\/(.*)$/.exec(path) ?? [];
  return (
    inside !== undefined &&
    !/^(?:hooks\/.*\.sample$|index$|logs\/|lfs\/|FETCH_HEAD|ORIG_HEAD|COMMIT_EDITMSG|gc\.)/.test(inside)
  );
}

function isHook(path: RawPath): boolean {
  return /(?:^|\/)hooks\/[^/.]+$/.test(path);
}

function autorunPaths(entries: ReadonlyMap<RawPath, ListedEntry>, base: string): ReadonlySet<RawPath> {
  const effects = [...entries].map(([path, { type, bytes }]) => ({
    ...({ path, raw: path, action: "changed", type, bytes, previousBytes: bytes, files: 1, isBinary: false } as const),
    notes: [],
  }));
  return findAutorunFiles({ effects }, base);
}
