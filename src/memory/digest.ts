/**
 * Builds the digest for the prompt: what people in one scope approved and denied, and which tool calls did not work the last time.
 * Merges equal calls of a tool into one row, most recent last. Leaves out the oldest rows if not all fit, and says how many.
 * Deterministic: the same files give the same text. A call that worked changes nothing in it, and nothing is counted, because each
 * change writes the prompt behind it to the service's cache again.
 */
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { createLruMap } from "../lib/lru-map.ts";
import { formatNumber } from "../lib/text/format-number.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import type { Scope } from "../ports/message.ts";
import { dayOfFile, listDayFilesSync, maxEditableBytes } from "./day-files.ts";
import { type FeedbackLine, isTurnWithoutTools, parseFeedbackLine, ratedAnswer } from "./feedback.ts";
import { scopeFolder } from "./places.ts";

const maxKnownFiles = 50;
const limits = { characters: 2_400, lines: 2_000, summary: 120 };

/** How a call ended that did not work. Any other outcome but `ok` is a decision. */
const failures = ["failed", "interrupted", "invalid"];

interface Row {
  tool: string;
  summary: string;
  /** Oldest first. */
  outcomes: Set<string>;
  last: string;
  lastBy?: string;
}

type DigestLine = FeedbackLine & { day: string };

interface ReadFile {
  stamp: string;
  /** Without turns without tools, which `count` includes. */
  lines: DigestLine[];
  count: number;
}

/** Reads a file again only if it has changed. Blocks, so it runs in the search index's thread. */
export function createDigest(workspace: string): (scope: Scope) => string {
  const known = createLruMap<ReadFile>(maxKnownFiles);

  function read(path: string): ReadFile {
    const info = statSync(path, { throwIfNoEntry: false });
    const stamp = `${info?.mtimeMs}:${info?.size}:${info?.ino}`;
    const cached = known.get(path);
    if (cached?.stamp === stamp) return cached;
    const day = dayOfFile(basename(path)) ?? "";
    const isReadable = info?.isFile() === true && info.size <= maxEditableBytes;
    const all = isReadable ? readFileSync(path, "utf8").split(/\r?\n/) : [];
    const lines = all.flatMap((line) => {
      const parsed = isTurnWithoutTools(line) ? undefined : parseFeedbackLine(line);
      return parsed === undefined ? [] : [{ ...parsed, day }];
    });
    const file = { stamp, lines, count: all.length };
    known.set(path, file);
    return file;
  }

  return (scope) => {
    const newest: DigestLine[][] = [];
    let count = 0;
    for (const path of listDayFilesSync(scopeFolder(workspace, "feedback", scope)).reverse()) {
      const file = read(path);
      newest.unshift(file.lines);
      count += file.count;
      if (count >= limits.lines) break;
    }
    return digestOf(newest.flat().slice(-limits.lines));
  };
}

/** `lines` must be oldest first. */
export function digestOf(lines: readonly DigestLine[]): string {
  const rows = new Map<string, Row>();
  const ratings = lines.filter(({ tool }) => tool === ratedAnswer);
  for (const line of lines) {
    // What people say about answers must not get into prompts without its origin.
    if (line.tool === ratedAnswer) continue;
    const summary = oneLine(line.summary, limits.summary);
    const key = `${line.tool}\n${summary}`;
    const known = rows.get(key);
    if (line.outcome === "ok") {
      for (const failure of failures) known?.outcomes.delete(failure);
      if (known?.outcomes.size === 0) rows.delete(key);
      continue;
    }
    const row: Row = known ?? { tool: line.tool, summary, outcomes: new Set(), last: line.day };
    row.last = line.day;
    if (line.by !== undefined) row.lastBy = line.by.name;
    // Delete before adding, so that outcomes and rows are in the order of the latest.
    row.outcomes.delete(line.outcome);
    row.outcomes.add(line.outcome);
    rows.delete(key);
    rows.set(key, row);
  }
  return fitted([...[...rows.values()].map(rowText), ...ratingsText(ratings)]);
}

/** Without numbers, which would change with each rating. */
function ratingsText(lines: readonly FeedbackLine[]): string[] {
  const [good = 0, bad = 0] = ["good", "bad"].map((outcome) => lines.filter((line) => line.outcome === outcome).length);
  return bad > good ? ["- answers: people rated more of them bad than good"] : [];
}

function fitted(texts: string[]): string {
  const kept: string[] = [];
  let length = 0;
  for (const text of texts.toReversed()) {
    // Leave room for the line that says how many rows were left out.
    if (length + text.length + 1 > limits.characters - 40) break;
    kept.unshift(text);
    length += text.length + 1;
  }
  const left = texts.length - kept.length;
  return (left === 0 ? kept : [`(${formatNumber(left)} older left out)`, ...kept]).join("\n");
}

function rowText({ tool, summary, outcomes, last, lastBy }: Row): string {
  const by = lastBy === undefined ? "" : `, decided by ${lastBy}`;
  return `- ${tool} ${summary}: ${[...outcomes].join(", then ")} (last ${last}${by})`;
}
