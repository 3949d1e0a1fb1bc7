/**
 * `search_files` finds files by name, and lines in them by text or regular expression. It does not follow links and
 * skips `.git` and `node_modules`. Expressions run on RE2, whose running time is linear for every pattern.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { matchesGlob } from "node:path";
import { RE2JS } from "re2js";
import { codeOf, messageOf } from "../../src/plugin-sdk/errors.ts";
import type { JsonObject, PluginContext } from "../../src/plugin-sdk/plugin.ts";
import { fileProblem, openForReading } from "../../src/plugin-sdk/working-folder.ts";
import { isBulk } from "./list.ts";
import { atReadable } from "./outputs.ts";
import { isBinary } from "./text.ts";
import { walk } from "./walk.ts";

const maxEntries = 50_000;
const deepest = 30;
const usualHits = 200;
const maxHits = 1_000;
const maxHitsPerFile = 50;
const maxSearchedBytes = 4 * 1024 * 1024;
const maxShownLineCharacters = 300;

type Matcher = (line: string) => boolean;

export function searchFiles(input: JsonObject, context: PluginContext): Promise<string> {
  const { signal } = context;
  const path = typeof input.path === "string" ? input.path : ".";
  const isNamed = nameMatcher(input.glob);
  const isHit = lineMatcher(input);
  const limit = typeof input.limit === "number" ? Math.min(Math.max(1, Math.floor(input.limit)), maxHits) : usualHits;
  return atReadable(path, context, async (place) => {
    await using handle = await openForReading(place, "folder");
    const prefix = place.shown === "." ? "" : `${place.shown}/`;
    const hits: string[] = [];
    let files = 0;
    const entries = walk(handle, place.path, { depth: deepest, entries: maxEntries, skips: isBulk });
    let next = await entries.next();
    for (; next.done !== true && hits.length <= limit; next = await entries.next()) {
      signal.throwIfAborted();
      const entry = next.value;
      if (entry.kind !== "file" || !isNamed(entry.path)) continue;
      files += 1;
      if (isHit === undefined) hits.push(`${prefix}${entry.path}`);
      else hits.push(...(await linesIn(entry.place, isHit)).map((line) => `${prefix}${entry.path}:${line}`));
    }
    const notes = notesOn(hits.length, limit, next.done === true && next.value.isCut);
    if (hits.length === 0) return [noHits(files, input.glob), ...notes].join("\n");
    return [...hits.slice(0, limit), ...notes].join("\n");
  });
}

function noHits(files: number, glob: unknown): string {
  return files === 0 && typeof glob === "string" && glob !== ""
    ? `Nothing found: no file's name matches ${glob}. Without glob, all files are searched.`
    : `Nothing found (${files} files searched).`;
}

function notesOn(count: number, limit: number, isCut: boolean): string[] {
  return [
    ...(count > limit ? [`(more than ${limit} results; narrow the search down)`] : []),
    ...(isCut ? [`(there are more than ${maxEntries} files; search in a folder below)`] : []),
  ];
}

/** A pattern without a slash matches at every depth. */
function nameMatcher(glob: unknown): Matcher {
  if (typeof glob !== "string" || glob === "") return () => true;
  const pattern = glob.includes("/") ? glob.replace(/^\.?\//, "") : `**/${glob}`;
  return (path) => matchesGlob(path, pattern);
}

function lineMatcher({ text, regex, ignore_case: ignoresCase }: JsonObject): Matcher | undefined {
  if (typeof text !== "string" || text === "") return undefined;
  const source = regex === true ? RE2JS.translateRegExp(text) : RE2JS.quote(text);
  try {
    const expression = RE2JS.compile(source, ignoresCase === true ? RE2JS.CASE_INSENSITIVE : 0);
    return (line) => expression.matcher(line).find();
  } catch (thrown) {
    throw fileProblem(
      "text",
      `is not a valid regular expression here (${messageOf(thrown)}): correct it, or omit regex`,
    );
  }
}

async function linesIn(path: string, isHit: Matcher): Promise<string[]> {
  const text = await textOf(path);
  if (text === undefined) return [];
  const hits: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (!isHit(line)) continue;
    if (hits.length === maxHitsPerFile) return [...hits, `(more than ${maxHitsPerFile} lines of this file match)`];
    const shown = line.trimEnd();
    hits.push(
      `${index + 1}: ${shown.length > maxShownLineCharacters ? `${shown.slice(0, maxShownLineCharacters)}…` : shown}`,
    );
  }
  return hits;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    await using handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const found = await handle.stat();
    if (!found.isFile() || found.size > maxSearchedBytes) return undefined;
    const bytes = await handle.readFile();
    return isBinary(bytes) ? undefined : new TextDecoder().decode(bytes);
  } catch (thrown) {
    if (codeOf(thrown) === undefined) throw thrown;
    return undefined;
  }
}
