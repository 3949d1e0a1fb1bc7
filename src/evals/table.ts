/** Results as Markdown: a table for each bot, with a total, and below them why tasks are not solved. */
import { counted } from "../lib/text/counted.ts";
import { formatNumber } from "../lib/text/format-number.ts";
import { formatDollars } from "../lib/text/format-usage.mjs";
import { shorten } from "../lib/text/shorten.ts";
import type { TaskResult } from "./play.ts";

const columns = ["solved", "requests", "tokens in", "cached", "tokens out", "invalid calls", "seconds", "dollars"];
const maxAnswer = 200;

export function resultTable(results: readonly TaskResult[]): string {
  const bots = [...new Set(results.map(({ bot }) => bot))];
  const ofBot = (bot: string) => results.filter((result) => result.bot === bot);
  const failures = failureLines(results);
  return [
    ...bots.map((bot) => tableOf(bot, ofBot(bot))),
    ...(bots.length > 1 ? [totals(bots.map((bot) => [bot, ofBot(bot)]))] : []),
    ...(failures === "" ? [] : [failures]),
  ].join("\n\n");
}

/** One line per group, such as per bot. Numbers are sums. */
function totals(groups: readonly (readonly [name: string, results: readonly TaskResult[]])[]): string {
  return markdownTable([["", ...columns], ...groups.map(([name, results]) => [name, ...cellsOf(results)])]);
}

function tableOf(bot: string, results: readonly TaskResult[]): string {
  const names = [...new Set(results.map(({ task }) => task))];
  const rows = names.map((name) => [name, ...cellsOf(results.filter(({ task }) => task === name))]);
  return markdownTable([[bot, ...columns], ...rows, ["total", ...cellsOf(results)]]);
}

function cellsOf(results: readonly TaskResult[]): string[] {
  const sum = (of: (one: TaskResult) => number) => results.reduce((total, one) => total + of(one), 0);
  const number = (of: (one: TaskResult) => number) => formatNumber(Math.round(sum(of)));
  const solved = results.filter(({ isSolved }) => isSolved).length;
  const isPriced = results.every(({ dollars }) => dollars !== undefined);
  return [
    results.length === 1 ? (solved === 1 ? "yes" : "no") : `${solved} of ${results.length}`,
    number(({ requests }) => requests),
    number(({ inputTokens }) => inputTokens),
    number(({ cachedTokens }) => cachedTokens),
    number(({ outputTokens }) => outputTokens),
    invalidText(results),
    number(({ seconds }) => seconds),
    isPriced ? formatDollars(sum(({ dollars = 0 }) => dollars)) : "?",
  ];
}

function invalidText(results: readonly TaskResult[]): string {
  const counts = new Map<string, number>();
  for (const { invalidCalls } of results)
    for (const [kind, count] of Object.entries(invalidCalls)) counts.set(kind, (counts.get(kind) ?? 0) + count);
  const words = results.filter(({ wordsInsteadOfCalls }) => wordsInsteadOfCalls).length;
  if (words > 0) counts.set("words instead of calls", words);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ") || "0";
}

function failureLines(results: readonly TaskResult[]): string {
  const isRepeated = results.some(({ round }) => round > 1);
  const failed = results.filter(({ isSolved }) => !isSolved);
  if (failed.length === 0) return "";
  const lines = failed.map(({ bot, task, round, failures, answer }) => {
    const name = `${bot}, ${task}${isRepeated ? `, round ${round}` : ""}`;
    const said = answer.trim() === "" ? "" : ` It said: “${shorten(answer.trim().replace(/\s+/g, " "), maxAnswer)}”`;
    return `- ${name}: ${failures.join(" ")}${said}`;
  });
  return [`${counted(failed.length, "task")} not solved:`, "", ...lines].join("\n");
}

/** The first row is the head. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = (clean[0] ?? []).map((_cell, column) => Math.max(3, ...clean.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const [head = [], ...rest] = clean;
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [head, rule, ...rest].map(line).join("\n");
}
