/**
 * Builds the digest for the prompt: what people in one scope approved and denied, and how tool calls ended. Merges
 * equal calls of a tool into one row, most recent last. Leaves out the oldest rows if not all fit, and says how many.
 * Deterministic: the same files give the same text.
 */
import { basename } from "node:path";
import { oneLine } from "../lib/text/sanitize.ts";
import { turnWithoutTools } from "../ports/memory.ts";
import type { Scope } from "../ports/message.ts";
import { dayOfFile, listDayFiles, readEditable } from "./day-files.ts";
import { type FeedbackLine, parseFeedback, ratedAnswer } from "./feedback.ts";
import { scopeFolder } from "./places.ts";

const limits = { characters: 2_400, lines: 2_000, summary: 120 };

/** In the digest's order: decisions of people, then outcomes of calls. */
const knownOutcomes = [
  "approved",
  "denied",
  "expired",
  "cancelled",
  "blocked",
  "granted",
  "revoked",
  "ok",
  "failed",
  "interrupted",
  "invalid",
];

interface Row {
  tool: string;
  summary: string;
  counts: Map<string, number>;
  last: string;
  lastBy?: string;
}

export async function readDigest(workspace: string, scope: Scope): Promise<string> {
  const lines: (FeedbackLine & { day: string })[] = [];
  const files = await listDayFiles(scopeFolder(workspace, "feedback", scope));
  for (const path of files.reverse()) {
    const day = dayOfFile(basename(path)) ?? "";
    const text = (await readEditable(path)) ?? "";
    lines.unshift(...parseFeedback(text).map((line) => ({ ...line, day })));
    if (lines.length >= limits.lines) break;
  }
  return digestOf(lines.slice(-limits.lines));
}

/** `lines` must be oldest first. */
export function digestOf(lines: readonly (FeedbackLine & { day: string })[]): string {
  const rows = new Map<string, Row>();
  const ratings = lines.filter(({ tool }) => tool === ratedAnswer);
  for (const line of lines) {
    if (line.tool === turnWithoutTools) continue;
    // Only counts of ratings: what people say about answers must not get into prompts without its origin.
    if (line.tool === ratedAnswer) continue;
    const summary = oneLine(line.summary, limits.summary);
    const key = `${line.tool}\n${summary}`;
    const row: Row = rows.get(key) ?? { tool: line.tool, summary, counts: new Map(), last: line.day };
    row.counts.set(line.outcome, (row.counts.get(line.outcome) ?? 0) + 1);
    row.last = line.day;
    if (line.by !== undefined) row.lastBy = line.by.name;
    // Delete before setting so that the map is ordered by latest use.
    rows.delete(key);
    rows.set(key, row);
  }
  return fitted([...[...rows.values()].map(rowText), ...ratingsText(ratings)]);
}

function ratingsText(lines: readonly FeedbackLine[]): string[] {
  const [good, bad] = ["good", "bad"].map((outcome) => lines.filter((line) => line.outcome === outcome).length);
  return good === 0 && bad === 0 ? [] : [`- answers: people rated ${good} good and ${bad} bad`];
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
  return (left === 0 ? kept : [`(${left.toLocaleString("en")} older left out)`, ...kept]).join("\n");
}

function rowText({ tool, summary, counts, last, lastBy }: Row): string {
  const rank = (outcome: string) =>
    (knownOutcomes.indexOf(outcome) + knownOutcomes.length + 1) % (knownOutcomes.length + 1);
  const said = [...counts]
    .sort(([one], [other]) => rank(one) - rank(other) || (one < other ? -1 : 1))
    .map(([outcome, count]) => (count === 1 ? outcome : `${outcome} ${count}×`));
  return `- ${tool} ${summary}: ${said.join(", ")} (last ${last}${lastBy === undefined ? "" : `, decided by ${lastBy}`})`;
}
