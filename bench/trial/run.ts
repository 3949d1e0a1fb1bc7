/**
 * A real model plays everyday tasks (tasks.yaml), on the agent itself and beside it on two bare bots with the same tools:
 *
 *   npm run trial -- --model openai/NAME --url http://127.0.0.1:8080/v1
 *
 *   --model PROVIDER/NAME   openai (and every compatible server), anthropic or ollama
 *   --url ADDRESS           as in OPENAI_BASE_URL, ANTHROPIC_BASE_URL or OLLAMA_HOST; default: the provider's own
 *   --key-env NAME          the variable with the key; default: OPENAI_API_KEY or ANTHROPIC_API_KEY
 *   --all                   all 60 tasks instead of the 20 quick ones
 *   --only WORDS            tasks with one of these names or tags, by commas
 *   --bots NAMES            of ours,bare,all: the agent; everyday tools defined; all shipped tools defined
 *   --timeout SECONDS       for each answer; default: 600
 *   --config FILE           remora.yaml of the agent; default: the shipped one
 *   --out FOLDER            for all requests and results; default: a new one
 *   --resume FOLDER         goes on with an interrupted run; takes a new --url, and none of the others
 *   --compare BEFORE AFTER  two folders: what changed
 *
 * It costs what the model costs. Small local models: local-model.ts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { settingsFor } from "../../src/cli/settings.ts";
import type { Bot } from "../../src/evals/bot.ts";
import { playTasks, type TaskResult } from "../../src/evals/play.ts";
import { createRemoraBot } from "../../src/evals/remora-bot.ts";
import type { Task } from "../../src/evals/task.ts";
import { readTasks } from "../../src/evals/task-file.ts";
import { hadNoConnection } from "../../src/evals/traffic.ts";
import { usableModel } from "../../src/evals/usable-model.ts";
import { messageOf } from "../../src/lib/errors.ts";
import { counted } from "../../src/lib/text/counted.ts";
import { formatNumber } from "../../src/lib/text/format-number.ts";
import { type Prices, shippedPrices } from "../../src/usage/price-table.ts";
import { createBareBot } from "./bare-bot.ts";
import { providerOf } from "./model-providers.ts";
import { newFacts, runToResume, type TrialOptions, trialOptions } from "./options.ts";
import { comparison, summary, worstFailures } from "./report.ts";
import { createRun, hasPlayed, openRun, type RunFacts, type SavedRun, saveResult } from "./saved-run.ts";
import { everydayTools } from "./simple-tools.ts";

// Times in tasks.yaml are UTC.
process.env.TZ = "UTC";

try {
  const { values, positionals } = trialOptions();
  if (values.compare === true) say(compared(positionals));
  else await play(values);
} catch (thrown) {
  process.stderr.write(`${messageOf(thrown)}\n`);
  process.exitCode = 1;
}

function compared([before, after]: readonly string[]): string {
  if (before === undefined || after === undefined) throw new Error("Name two folders: --compare BEFORE AFTER");
  return comparison(openRun(before).results, openRun(after).results);
}

async function play(options: TrialOptions): Promise<void> {
  const all = readTasks(join(import.meta.dirname, "tasks.yaml"));
  const run = options.resume === undefined ? newRun(all, options) : runToResume(options.resume, options);
  const tasks = all.filter(({ name }) => run.facts.tasks.includes(name));
  say(`${run.facts.model}, ${counted(tasks.length, "task")}, saved in ${run.folder}\n`);
  const stopped = new AbortController();
  process.once("SIGINT", () => stopped.abort(new Error("Stopped.")));
  try {
    for (const name of run.facts.bots) {
      const left = tasks.filter((task) => !hasPlayed(run.results, name, task.name));
      if (left.length > 0) await playWith(name, left, run, stopped);
      stopped.signal.throwIfAborted();
    }
  } catch (thrown) {
    const isBegun = stopped.signal.aborted || run.results.length > 0;
    process.stderr.write(`${messageOf(thrown)}\n${isBegun ? `Go on with --resume ${run.folder}\n` : ""}`);
    process.exitCode = 1;
  }
  const [first = ""] = run.facts.bots;
  if (run.results.length > 0) say(["", summary(run.results), worstFailures(run.results, first)].join("\n\n"));
}

async function playWith(name: string, tasks: Task[], run: SavedRun, stopped: AbortController): Promise<void> {
  const { signal } = stopped;
  const home = mkdtempSync(join(tmpdir(), "remora-trial-home-"));
  let bot: Bot | undefined;
  try {
    bot = await createBot(name, run.facts, home, signal);
    const { hasCards } = bot;
    await playTasks({
      ...{ bots: [bot], signal, timeoutMs: run.facts.timeoutSeconds * 1_000, prices: pricesFor(run.facts) },
      tasks: tasks.filter(({ tags }) => hasCards || !tags.includes("cards")),
      onResult(result) {
        const { task, traffic } = result;
        if (hadNoConnection(traffic)) {
          const why = `The model's server can't be reached (${traffic[0]?.noConnection}), so ${task} is not saved.`;
          stopped.abort(new Error(`${why} If it has another address now, add --url ADDRESS.`));
          return;
        }
        saveResult(run, result);
        say(lineOf(result));
      },
    });
  } finally {
    await bot?.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function newRun(all: readonly Task[], options: TrialOptions): SavedRun {
  const facts = newFacts(all, options);
  return createRun(resolve(options.out ?? mkdtempSync(join(tmpdir(), `trial-${today()}-`))), facts);
}

/** Rejects with what to do if the model does not answer one short request. */
async function createBot(name: string, facts: RunFacts, root: string, signal: AbortSignal): Promise<Bot> {
  const { model, url, keyEnv, config } = facts;
  const provider = providerOf(model);
  const key = process.env[keyEnv ?? provider.key ?? ""];
  const env = {
    ...{ PATH: process.env.PATH, HOME: root, TZ: "UTC", REMORA_MODEL: model },
    ...(url === undefined ? {} : { [provider.address]: url }),
    ...(key === undefined || provider.key === undefined ? {} : { [provider.key]: key }),
    ...(config === undefined ? {} : { REMORA_CONFIG: config }),
  };
  if (name === "ours") return await createRemoraBot({ root, name, env, signal });
  await usableModel(settingsFor(env, root), signal);
  const bare = { name, model: model.slice(model.indexOf("/") + 1), url: provider.chatUrl(url), key: key ?? "none" };
  return createBareBot(name === "bare" ? { ...bare, tools: everydayTools } : bare);
}

/** The bare bots ask every service in OpenAI's protocol. */
function pricesFor({ model, url }: RunFacts): Prices {
  const price = url === undefined ? shippedPrices[model] : undefined;
  return price === undefined ? {} : { [model.replace(/^\w+/, "openai")]: price };
}

function lineOf({ bot, task, isSolved, failures, requests, inputTokens, seconds }: TaskResult): string {
  const figures = `${counted(requests, "request")}, ${formatNumber(inputTokens)} tokens in, ${seconds} s`;
  return `${isSolved ? "✓" : "✗"} ${bot} ${task}: ${figures}${isSolved ? "" : `. ${failures.join(" ")}`}`;
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
