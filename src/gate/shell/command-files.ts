/**
 * Tells which files a command may open, from its text: the words that may name them, and what it runs. If that can't be
 * told, `isOpaque` says so, as for every program that is not known to open only what it is told to.
 */
import type { CommandFiles } from "../../ports/bound-files.ts";
import { createDeadline } from "../deadline.ts";
import { baseName } from "./flags.ts";
import type { SimpleCommand } from "./reading.ts";
import { readShell } from "./shell.ts";
import type { ShellWord } from "./words.ts";

const readingLimitMs = 100;
const shells = /^(?:ba|z|da|k|mk|a|rba)?sh$/;
const sources = /^(?:source|\.)$/;
/** With the endings of the files that they load by themselves, beside the script. */
const interpreters: readonly [RegExp, string][] = [
  [/^(?:python|pypy)[\d.]*$/, "py pyc pyo pyw pyd so pth zip egg cfg toml"],
  [/^(?:node|nodejs|bun|deno|tsx|ts-node)$/, "js mjs cjs jsx ts mts cts tsx json node wasm"],
  [/^(?:ruby|jruby)[\d.]*$/, "rb so gemspec lock"],
  [/^perl[\d.]*$/, "pl pm ph so"],
  [/^php[\d.]*$/, "php phar inc ini"],
  [/^(?:lua|luajit)[\d.]*$/, "lua so"],
];
/** They open what their words name, and nothing else in the folder. */
const plainPrograms = new Set(
  `[ [[ : command exec ionice nice setsid stdbuf time apt apt-get awk base32 base64 basename break cat cd chmod chown cmp continue cp curl cut date declare df dig dirname du echo
  env exit export expr false file fold gawk getent grep egrep fgrep groups gunzip gzip head hexdump host hostname id join jq kill
  let ln local logger ls mawk md5sum mkdir mktemp mv nc ncat nl nohup nslookup od openssl paste ping popd printf ps pushd pwd read
  readlink readonly realpath return rev rm rmdir rsync scp sed seq set sha1sum sha256sum sha512sum shift shuf sleep sort split ssh stat
  strings tac tail tar tee test timeout touch tr true trap tsort tty type typeset ulimit umask uname uniq unlink unset unxz unzip uptime
  wait wc wget whereis which whoami xxd xz yes zcat zip`.split(/\s+/),
);
/** Their words are text, or name what they write or remove. */
const silentPrograms =
  /^(?:echo|printf|test|\[|\[\[|:|export|declare|local|readonly|typeset|set|unset|exit|return|read|shift|sleep|true|false|kill|wait|date|mkdir|touch|rm|let|expr|trap)$/;
const changesFolder = /^(?:cd|pushd)$/;
/** A program that reads whole folders, or what its input names, by one of these options. */
const readsMore = /^(?:-[A-Za-z]*[rR][A-Za-z]*|--recursive|--dereference-recursive|-T|--files-from(?:=.*)?)$/;
/** It changes which program or which settings a name stands for. */
const changesPrograms =
  /\b\w*(?:PATH|PRELOAD|LIBRARY|OPTIONS|OPTS|FLAGS|ENV|STARTUP|INIT|RC|HOME|SHELL|EDITOR|PAGER|CONFIG)\+?=|\b(?:GIT|LD|NPM|npm|PIP|PYTHON|NODE|PERL|RUBY|MAKE|BASH)\w*\+?=/;
/** Stands for the script's own words and folder, which are known. */
const ownWords =
  /\$\(\s*(?:dirname|realpath|readlink -f)\s+(?:--\s+)?["']?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?["']?\s*\)|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%\/\*\}|\$\(pwd\)|\$\{?PWD\}?|\$[@*#?$!\d-]|\$\{[@*#?$!\d]+\}/g;
/** What these send and fetch is in the repository's folder, whose objects are named by their content. */
const remoteGit = new Set(["push", "fetch", "ls-remote", "remote", "clone", "version", "config"]);
const harmlessTags = new Set(["#shell:find-delete"]);

export function readCommandFiles(text: string): CommandFiles {
  const { commands, tags } = readShell(text, createDeadline(readingLimitMs));
  const found: CommandFiles = {
    words: [],
    globs: [],
    folders: [],
    scripts: [],
    endings: [],
    usesGit: false,
    isOpaque: false,
  };
  found.isOpaque = changesPrograms.test(text) || [...tags].some((tag) => !harmlessTags.has(tag));
  for (const command of commands) readOne(command, found);
  return found;
}

function readOne({ words: [name, ...rest], redirects }: SimpleCommand, found: CommandFiles): void {
  const program = baseName(name?.value ?? "");
  const isSilent = silentPrograms.test(program);
  const opened = [
    ...(isSilent ? [] : rest),
    ...redirects.flatMap(({ operator, target }) => (operator === "<" ? [target] : [])),
  ];
  const values = opened.map(textOf);
  if (opened.some(isUnknown)) found.isOpaque = true;
  if (changesFolder.test(program)) found.folders.push(...values);
  else found.words.push(...values, ...(isSilent ? rest.map(textOf) : []));
  found.globs.push(...opened.filter(({ hasGlob }) => hasGlob).map(textOf));
  for (const [at, { value }] of rest.entries())
    if (/^(?:-C|--directory|--prefix|--cwd)$/.test(value) && rest[at + 1])
      found.folders.push(rest[at + 1]?.value ?? "");
  if (name === undefined) return;
  if (/[$`]/.test(name.value) || name.hasGlob) found.isOpaque = true;
  readProgram(name.value, program, rest, found);
}

function readProgram(path: string, program: string, rest: readonly ShellWord[], found: CommandFiles): void {
  const values = rest.map(textOf);
  const script = values.find((value) => value !== "" && !/^[-+]/.test(value));
  const isScripted = shells.test(program) || sources.test(program);
  const interpreter = interpreters.find(([pattern]) => pattern.test(program));
  // A path may name a file of the folder, whatever its name is.
  if (path.includes("/") && !/^\/(?:usr\/(?:local\/)?)?s?bin\/[^/]+$/.test(path)) {
    found.scripts.push(path);
    found.words.push(path);
  } else if (isScripted) {
    if (script !== undefined) found.scripts.push(script);
    if (values.some((value) => /^--(?:rcfile|init-file)/.test(value))) found.isOpaque = true;
  } else if (interpreter !== undefined) {
    // An option may load any module; a module has no path.
    if (script === undefined || !/^[^-]/.test(values[0] ?? "")) found.isOpaque = true;
    else found.scripts.push(script);
    found.endings.push(...interpreter[1].split(" "));
  } else if (program === "git") readGit(values, found);
  else if (!plainPrograms.has(program) || values.some((value) => readsMore.test(value) && program !== "tr"))
    found.isOpaque ||= !isOwnOption(program, values);
}

/** `rm -r`, `cp -r` and `curl -T` read what their words name, a folder as a whole. */
function isOwnOption(program: string, values: readonly string[]): boolean {
  if (!plainPrograms.has(program)) return false;
  const isSearch = /grep$/.test(program);
  // Without a folder, a search reads the current one.
  return !isSearch && !values.some((value) => /^(?:-T|--files-from)/.test(value) && program !== "curl");
}

function readGit(values: readonly string[], found: CommandFiles): void {
  found.usesGit = true;
  const at = values[0] === "-C" ? 2 : 0;
  if (!remoteGit.has(values[at] ?? "")) found.isOpaque = true;
}

function textOf({ value }: ShellWord): string {
  return value.replace(ownWords, ".");
}

function isUnknown(word: ShellWord): boolean {
  return /[$`]/.test(textOf(word));
}
