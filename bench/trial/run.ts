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
 *   --resume FOLDER         goes on with an interrupted run
 *   --compare BEFORE AFTER  two folders: what changed
 *
 * It costs what the model costs. Small local models: local-model.ts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Bot } from "../../src/evals/bot.ts";
import { playTasks, type TaskResult } from "../../src/evals/play.ts";
import { createRemoraBot } from "../../src/evals/remora-bot.ts";
import type { Task } from "../../src/evals/task.ts";
import { readTasks } from "../../src/evals/task-file.ts";
import { formatNumber } from "../../src/lib/text/format-number.ts";
import { type Prices, shippedPrices } from "../../src/usage/price-table.ts";
import { createBareBot } from "./bare-bot.ts";
import { comparison, summary, worstFailures } from "./report.ts";
import { createRun, hasPlayed, openRun, type RunFacts, type SavedRun, saveResult } from "./saved-run.ts";
import { everydayTools } from "./simple-tools.ts";

/** Where a provider's address and key stand, and its address for OpenAI's Chat Completions. */
const providers: Record<string, { address: string; key?: string; chatUrl(url?: string): string }> = {
  openai: {
    ...{ address: "OPENAI_BASE_URL", key: "OPENAI_API_KEY" },
    chatUrl: (url = "https://api.openai.com/v1") => url,
  },
  anthropic: {
    ...{ address: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY" },
    chatUrl: (url = "https://api.anthropic.com") => `${url.replace(/\/$/, "")}/v1`,
  },
  ollama: { address: "OLLAMA_HOST", chatUrl: (url = "http://127.0.0.1:11434") => `${url.replace(/\/$/, "")}/v1` },
};

// Times in tasks.yaml are UTC.
process.env.TZ = "UTC";
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: "string" },
    url: { type: "string" },
    "key-env": { type: "string" },
    all: { type: "boolean", default: false },
    only: { type: "string" },
    bots: { type: "string", default: "ours,bare,all" },
    timeout: { type: "string", default: "600" },
    config: { type: "string" },
    out: { type: "string" },
    resume: { type: "string" },
    compare: { type: "boolean", default: false },
  },
});

try {
  if (values.compare) say(compared(positionals));
  else await play();
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = 1;
}

function compared([before, after]: readonly string[]): string {
  if (before === undefined || after === undefined) throw new Error("Name two folders: --compare BEFORE AFTER");
  return comparison(openRun(before).results, openRun(after).results);
}

async function play(): Promise<void> {
  const all = readTasks(join(import.meta.dirname, "tasks.yaml"));
  const run = values.resume === undefined ? newRun(all) : openRun(values.resume);
  const tasks = all.filter(({ name }) => run.facts.tasks.includes(name));
  say(`${run.facts.model}, ${tasks.length} tasks, saved in ${run.folder}\n`);
  const stopped = new AbortController();
  process.once("SIGINT", () => stopped.abort());
  for (const name of run.facts.bots) {
    if (stopped.signal.aborted) break;
    const left = tasks.filter((task) => !hasPlayed(run.results, name, task.name));
    if (left.length > 0) await playWith(name, left, run, stopped.signal);
  }
  const [first = ""] = run.facts.bots;
  say(["", summary(run.results), worstFailures(run.results, first)].join("\n\n"));
  if (stopped.signal.aborted) say(`\nStopped. Go on with --resume ${run.folder}`);
}

async function playWith(name: string, tasks: Task[], run: SavedRun, signal: AbortSignal): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "remora-trial-home-"));
  let bot: Bot | undefined;
  try {
    bot = await createBot(name, run.facts, home);
    const { hasCards } = bot;
    await playTasks({
      ...{ bots: [bot], signal, timeoutMs: run.facts.timeoutSeconds * 1_000, prices: pricesFor(run.facts) },
      tasks: tasks.filter(({ tags }) => hasCards || !tags.includes("cards")),
      onResult(result) {
        saveResult(run, result);
        say(lineOf(result));
      },
    });
  } finally {
    await bot?.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function newRun(all: readonly Task[]): SavedRun {
  const { model, url, config, only, bots } = values;
  if (model === undefined) throw new Error("Name a model: --model PROVIDER/NAME, such as openai/gpt-6-luna");
  providerOf(model);
  const wanted = only?.split(",");
  const chosen = all.filter(({ name, tags, isQuick }) =>
    wanted === undefined ? isQuick || values.all : [name, ...tags].some((word) => wanted.includes(word)),
  );
  if (chosen.length === 0) throw new Error(`No task has the name or tag ${only}.`);
  return createRun(resolve(values.out ?? mkdtempSync(join(tmpdir(), `trial-${today()}-`))), {
    ...{ model, bots: bots.split(","), tasks: chosen.map(({ name }) => name), timeoutSeconds: Number(values.timeout) },
    ...(url === undefined ? {} : { url }),
    ...(values["key-env"] === undefined ? {} : { keyEnv: values["key-env"] }),
    ...(config === undefined ? {} : { config: resolve(config) }),
    at: new Date().toISOString(),
  });
}

async function createBot(name: string, { model, url, keyEnv, config }: RunFacts, root: string): Promise<Bot> {
  const provider = providerOf(model);
  const key = process.env[keyEnv ?? provider.key ?? ""];
  const bare = { name, model: model.slice(model.indexOf("/") + 1), url: provider.chatUrl(url), key: key ?? "none" };
  switch (name) {
    case "ours":
      return await createRemoraBot({
        ...{ root, name },
        env: {
          ...{ PATH: process.env.PATH, HOME: root, TZ: "UTC", REMORA_MODEL: model },
          ...(url === undefined ? {} : { [provider.address]: url }),
          ...(key === undefined || provider.key === undefined ? {} : { [provider.key]: key }),
          ...(config === undefined ? {} : { REMORA_CONFIG: config }),
        },
      });
    case "bare":
      return createBareBot({ ...bare, tools: everydayTools });
    case "all":
      return createBareBot(bare);
    default:
      throw new Error(`There is no bot ${name}. --bots takes ours, bare and all, by commas.`);
  }
}

function providerOf(model: string): (typeof providers)[string] {
  const provider = providers[model.split("/", 1)[0] ?? ""];
  if (provider === undefined) throw new Error(`${model}: the provider is one of ${Object.keys(providers).join(", ")}.`);
  return provider;
}

/** The bare bots ask every service in OpenAI's protocol. */
function pricesFor({ model, url }: RunFacts): Prices {
  const price = url === undefined ? shippedPrices[model] : undefined;
  return price === undefined ? {} : { [model.replace(/^\w+/, "openai")]: price };
}

function lineOf({ bot, task, isSolved, failures, requests, inputTokens, seconds }: TaskResult): string {
  const figures = `${requests} requests, ${formatNumber(inputTokens)} tokens in, ${seconds} s`;
  return `${isSolved ? "✓" : "✗"} ${bot} ${task}: ${figures}${isSolved ? "" : `. ${failures.join(" ")}`}`;
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
