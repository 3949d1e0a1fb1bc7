/** A run in a folder: what played, and each result with its requests as soon as it is there, so that an interrupted run can go on. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TaskResult } from "../../src/evals/play.ts";
import { isJsonObject, parseJson } from "../../src/lib/json.ts";
import type { Results } from "./report.ts";

export interface RunFacts {
  /** `provider/name`. */
  model: string;
  url?: string;
  keyEnv?: string;
  /** Settings of our bot. */
  config?: string;
  bots: string[];
  tasks: string[];
  timeoutSeconds: number;
  /** ISO 8601. */
  at: string;
}

export interface SavedRun {
  folder: string;
  facts: RunFacts;
  results: TaskResult[];
}

export function createRun(folder: string, facts: RunFacts): SavedRun {
  if (existsSync(factsIn(folder))) throw new Error(`${folder} has a run already. Go on with it: --resume ${folder}`);
  mkdirSync(folder, { recursive: true });
  const run = { folder, facts, results: [] };
  saveFacts(run);
  return run;
}

export function saveFacts({ folder, facts }: SavedRun): void {
  writeFileSync(factsIn(folder), `${JSON.stringify(facts, null, 2)}\n`);
}

export function openRun(folder: string): SavedRun {
  const facts = existsSync(factsIn(folder)) ? parseJson(readFileSync(factsIn(folder), "utf8")) : undefined;
  if (!isJsonObject(facts)) throw new Error(`${folder} has no run. Name the folder that a trial has printed.`);
  return { folder, facts: facts as unknown as RunFacts, results: readResults(folder) };
}

export function saveResult(run: SavedRun, result: TaskResult): void {
  run.results.push(result);
  // The line before may be a half one.
  appendFileSync(resultsIn(run.folder), `\n${JSON.stringify(result)}`);
}

/** Without what was written when the process died. */
function readResults(folder: string): TaskResult[] {
  if (!existsSync(resultsIn(folder))) return [];
  const lines = readFileSync(resultsIn(folder), "utf8").split("\n");
  return lines.flatMap((line) => {
    const result = parseJson(line);
    return isJsonObject(result) ? [result as unknown as TaskResult] : [];
  });
}

export function hasPlayed(results: Results, bot: string, task: string): boolean {
  return results.some((one) => one.bot === bot && one.task === task);
}

function factsIn(folder: string): string {
  return join(folder, "run.json");
}

function resultsIn(folder: string): string {
  return join(folder, "results.jsonl");
}
