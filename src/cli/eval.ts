/**
 * `remora eval` plays the tasks of a file on the agent, with the settings, the model and the skills of this installation, and
 * prints a table. Exit code 0 if all are solved, 1 if some are not, 2 if nothing was played.
 */
import { join, resolve } from "node:path";
import { z } from "zod";
import type { Environment } from "../config/environment.ts";
import type { Bot } from "../evals/bot.ts";
import { playTasks, type TaskResult } from "../evals/play.ts";
import { createRemoraBot } from "../evals/remora-bot.ts";
import { saveResults } from "../evals/save-results.ts";
import { resultTable } from "../evals/table.ts";
import type { Task } from "../evals/task.ts";
import { readTasks } from "../evals/task-file.ts";
import { RemoraError } from "../lib/errors.ts";
import { counted } from "../lib/text/counted.ts";
import { settingsFor } from "./settings.ts";

export interface EvalOptions {
  model?: string;
  only?: string;
  timeout: string;
  out?: string;
  repeat: string;
}

const defaultFile = "evals.yaml";
const unusable = 2;
const numbers = z.object({
  timeout: z.coerce.number("--timeout is a number of seconds").min(1, "--timeout is at least 1 second"),
  repeat: z.coerce.number("--repeat is a number").int("--repeat is a whole number").min(1, "--repeat is at least 1"),
});

export async function evalCommand(
  env: Environment,
  root: string,
  file: string | undefined,
  options: EvalOptions,
): Promise<void> {
  try {
    process.exitCode = await play(env, root, file === undefined ? join(root, defaultFile) : resolve(file), options);
  } catch (thrown) {
    if (!(thrown instanceof RemoraError)) throw thrown;
    process.stderr.write(`${thrown.message}\n`);
    process.exitCode = unusable;
  }
}

async function play(given: Environment, root: string, file: string, options: EvalOptions): Promise<number> {
  const limits = numbers.safeParse(options);
  if (!limits.success) throw badInput("eval", limits.error.issues.map(({ message }) => message).join("; "));
  const tasks = chosen(readTasks(file), file, options.only);
  const env = options.model === undefined ? given : { ...given, REMORA_MODEL: options.model };
  const { prices } = settingsFor(env, root).config.models;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once("SIGINT", stop);
  const { signal } = stopped;
  const { timeout, repeat } = limits.data;
  let bot: Bot | undefined;
  try {
    bot = await createRemoraBot({ env, root, signal });
    const bots = [bot];
    const results = await playTasks({
      ...{ tasks, bots, prices, onResult: showResult, signal, timeoutMs: timeout * 1_000, repeat },
    });
    if (results.length > 0) {
      process.stdout.write(`${resultTable(results)}\n`);
      if (options.out !== undefined) await saveResults(resolve(options.out), results);
    }
    if (results.length === tasks.length * repeat) return results.every(({ isSolved }) => isSolved) ? 0 : 1;
    showStop(tasks, repeat, results);
    return results.length === 0 ? unusable : 1;
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    showStop(tasks, repeat, []);
    return unusable;
  } finally {
    process.off("SIGINT", stop);
    await bot?.close();
  }
}

function chosen(tasks: readonly Task[], file: string, only: string | undefined): Task[] {
  const found = tasks.filter(({ name, tags }) => only === undefined || name === only || tags.includes(only));
  if (found.length > 0) return found;
  const known = [...new Set([...tasks.flatMap(({ tags }) => tags), ...tasks.map(({ name }) => name)])];
  throw badInput(file, `no task has the name or the tag "${only}". There are: ${known.join(", ")}`);
}

/** While the others are played. */
function showResult({ task, isSolved, seconds, failures }: TaskResult): void {
  process.stderr.write(`${isSolved ? "solved" : "not solved"}  ${task}  ${seconds} s  ${failures.join(" ")}`.trimEnd());
  process.stderr.write("\n");
}

function showStop(tasks: readonly Task[], repeat: number, results: readonly TaskResult[]): void {
  const left = tasks.flatMap(({ name }) => {
    const times = repeat - results.filter(({ task }) => task === name).length;
    return times === 0 ? [] : [repeat === 1 ? name : `${name} (${counted(times, "time")})`];
  });
  const what = results.length === 0 ? "Nothing was played" : `Not played: ${left.join(", ")}`;
  process.stderr.write(`Stopped. ${what}.\n`);
}

function badInput(place: string, message: string): RemoraError {
  return new RemoraError({ code: "eval.bad-input", place, message });
}
