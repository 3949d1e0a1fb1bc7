/** What a trial shows: a column for each bot, the worst failures, and what changed between two runs. */
import type { TaskResult } from "../../src/evals/play.ts";
import { markdownTable } from "../../src/evals/table.ts";
import { formatNumber } from "../../src/lib/text/format-number.ts";
import { formatDollars } from "../../src/lib/text/format-usage.mjs";

export type Results = readonly TaskResult[];

const maxWorst = 10;
const maxAnswer = 600;

/** Averages are per played task. Bots are compared by the tasks that all of them have played. */
export function summary(results: Results): string {
  const bots = [...new Set(results.map(({ bot }) => bot))];
  const columns = bots.map((bot): [string, Results] => [bot, results.filter((result) => result.bot === bot)]);
  const common = commonTasks(columns.map(([, own]) => own));
  const shared = columns.map(([, own]) => solvedText(own.filter(({ task }) => common.has(task))));
  const kinds = [...new Set(results.flatMap(({ tags }) => tags))];
  return markdownTable([
    ["", ...bots],
    ["solved", ...columns.map(([, own]) => solvedText(own))],
    ["of what all have played", ...shared],
    ...measures.map(([name, of]) => [name, ...columns.map(([, own]) => of(own))]),
    ...kinds.map((kind) => [`solved: ${kind}`, ...columns.map(([, own]) => solvedText(tagged(own, kind)))]),
  ]);
}

/** In this order: what another bot solved, what had no answer, words instead of calls, and what took many requests. */
export function worstFailures(results: Results, bot: string): string {
  const solvedBy = (name: string) => results.filter((one) => one.task === name && one.isSolved).map((one) => one.bot);
  const weight = ({ task, ended, wordsInsteadOfCalls, requests }: TaskResult) =>
    (solvedBy(task).length > 0 ? 1_000 : 0) +
    (ended === "answered" ? 0 : 500) +
    (wordsInsteadOfCalls ? 200 : 0) +
    requests;
  const failed = results.filter((one) => one.bot === bot && !one.isSolved);
  const worst = failed.toSorted((one, other) => weight(other) - weight(one)).slice(0, maxWorst);
  if (worst.length === 0) return "";
  const texts = worst.map(({ task, failures, answer, calls, ended }) => {
    const others = solvedBy(task);
    const made = calls.map(({ tool, status, problem }) => `${tool} ${problem ?? status}`).join(", ");
    return [
      `### ${task}${others.length === 0 ? "" : `, solved by ${others.join(" and ")}`}`,
      `${failures.join(" ")} Ended: ${ended}. Calls: ${made || "none"}.`,
      answer.trim() === "" ? "(no answer)" : quoted(answer),
    ].join("\n\n");
  });
  return [`## Worst failures of ${bot}: ${worst.length} of ${failed.length}`, ...texts].join("\n\n");
}

/** Only tasks that both runs have played count, bot by bot. */
export function comparison(before: Results, after: Results): string {
  const names = [...new Set(after.map(({ bot }) => bot))].filter((name) => before.some(({ bot }) => bot === name));
  if (names.length === 0) return "No bot has played in both runs.";
  return names.map((bot) => comparisonOf(bot, ofBot(before, bot), ofBot(after, bot))).join("\n\n");
}

function comparisonOf(bot: string, before: Results, after: Results): string {
  const common = commonTasks([before, after]);
  const [one, other] = [before, after].map((results) => results.filter(({ task }) => common.has(task)));
  if (one === undefined || other === undefined || common.size === 0) return `${bot}: no task was played in both runs.`;
  const rows = [["solved", solvedText] as const, ...measures].map(([name, of]) => [name, of(one), of(other)]);
  const solved = (results: Results, task: string) => results.some((result) => result.task === task && result.isSolved);
  const changed = [...common].filter((task) => solved(one, task) !== solved(other, task));
  const lines = changed.map((task) => {
    const isSolved = solved(other, task);
    const why = (isSolved ? one : other).filter((result) => result.task === task).flatMap(({ failures }) => failures);
    return `- ${task}: ${isSolved ? "now solved; before" : "no longer solved"}: ${why.join(" ")}`;
  });
  return [markdownTable([[bot, "before", "after"], ...rows]), lines.join("\n") || "No task ended differently."].join(
    "\n\n",
  );
}

const measures: readonly (readonly [name: string, of: (results: Results) => string])[] = [
  ["requests per task", (results) => decimal(mean(results, ({ requests }) => requests))],
  ["tokens in per task", (results) => whole(mean(results, ({ inputTokens }) => inputTokens))],
  ["  of them cached", (results) => whole(mean(results, ({ cachedTokens }) => cachedTokens))],
  ["tokens out per task", (results) => whole(mean(results, ({ outputTokens }) => outputTokens))],
  ["invalid calls", (results) => invalidText(results)],
  ["words instead of calls", (results) => String(results.filter((one) => one.wordsInsteadOfCalls).length)],
  ["cards", (results) => whole(sum(results, ({ cards }) => cards))],
  ["seconds per task", (results) => decimal(mean(results, ({ seconds }) => seconds))],
  ["dollars", dollarsText],
  ["not answered", endsText],
];

function dollarsText(results: Results): string {
  const isPriced = results.every(({ dollars }) => dollars !== undefined);
  return isPriced ? formatDollars(sum(results, ({ dollars = 0 }) => dollars)) : "?";
}

function endsText(results: Results): string {
  return countsText(results.flatMap(({ ended }) => (ended === "answered" ? [] : [ended])));
}

function invalidText(results: Results): string {
  const kinds = results.flatMap(({ invalidCalls }) =>
    Object.entries(invalidCalls).flatMap(([kind, count]) => Array<string>(count).fill(kind)),
  );
  return countsText(kinds);
}

function countsText(names: readonly string[]): string {
  const groups = Object.entries(Object.groupBy(names, (name) => name));
  return groups.map(([name, all = []]) => `${all.length} ${name}`).join(", ") || "0";
}

function ofBot(results: Results, name: string): Results {
  return results.filter(({ bot }) => bot === name);
}

function tagged(results: Results, kind: string): Results {
  return results.filter(({ tags }) => tags.includes(kind));
}

function commonTasks(runs: readonly Results[]): ReadonlySet<string> {
  const names = runs.map((results) => new Set(results.map(({ task }) => task)));
  return new Set([...(names[0] ?? [])].filter((task) => names.every((played) => played.has(task))));
}

function solvedText(results: Results): string {
  return `${results.filter(({ isSolved }) => isSolved).length} of ${results.length}`;
}

function sum(results: Results, of: (one: TaskResult) => number): number {
  return results.reduce((total, one) => total + of(one), 0);
}

function mean(results: Results, of: (one: TaskResult) => number): number {
  return results.length === 0 ? 0 : sum(results, of) / results.length;
}

function whole(number: number): string {
  return formatNumber(Math.round(number));
}

function decimal(number: number): string {
  return number.toFixed(1);
}

function quoted(text: string): string {
  const short = text.length <= maxAnswer ? text : `${text.slice(0, maxAnswer).toWellFormed()}…`;
  return short.trim().replace(/^/gm, "> ");
}
