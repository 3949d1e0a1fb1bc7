/** Reads the options of a trial, and refuses wrong ones before anything is played, each with a sentence. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Task } from "../../src/evals/task.ts";
import { codeOf, messageOf } from "../../src/lib/errors.ts";
import { providerOf } from "./model-providers.ts";
import { openRun, type RunFacts, type SavedRun, saveFacts } from "./saved-run.ts";

const optionTypes = {
  model: { type: "string" },
  url: { type: "string" },
  "key-env": { type: "string" },
  all: { type: "boolean" },
  only: { type: "string" },
  bots: { type: "string" },
  timeout: { type: "string" },
  config: { type: "string" },
  out: { type: "string" },
  resume: { type: "string" },
  compare: { type: "boolean" },
} as const;
const botNames = ["ours", "bare", "all"];
const usualTimeout = "600";

/** As `parseArgs`, with one sentence for what it refuses. */
export function readOptions<Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (thrown) {
    if (codeOf(thrown)?.startsWith("ERR_PARSE_ARGS_") !== true) throw thrown;
    const [what = ""] = messageOf(thrown).split(/\. |\n/);
    const names = Object.keys(config.options ?? {}).map((name) => `--${name}`);
    throw new Error(`${what.replace(/\.$/, "")}; there are ${names.join(", ")}.`);
  }
}

export function trialOptions(args: string[] = process.argv.slice(2)) {
  const { values, positionals } = readOptions({ args, allowPositionals: true, options: optionTypes });
  const [first] = positionals;
  if (values.compare !== true && first !== undefined) throw new Error(`${first} belongs to no option.`);
  return { values, positionals };
}

export type TrialOptions = ReturnType<typeof trialOptions>["values"];

/** With a new address, if there is one: a local server that was started again often has another port. */
export function runToResume(folder: string, { resume: _resume, url, ...others }: TrialOptions): SavedRun {
  const run = openRun(folder);
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new Error(`--resume goes on with the options that the run began with, so it takes --url and no --${other}.`);
  if (url === undefined) return run;
  run.facts.url = checkedUrl(url);
  saveFacts(run);
  return run;
}

export function newFacts(all: readonly Task[], options: TrialOptions): RunFacts {
  const { model, url, config, "key-env": keyEnv, timeout = usualTimeout } = options;
  if (model === undefined) throw new Error("Name a model: --model PROVIDER/NAME, such as openai/gpt-6-luna");
  providerOf(model);
  const timeoutSeconds = Number(timeout);
  if (!(timeoutSeconds >= 1)) throw new Error(`--timeout ${timeout}: write a number of seconds, at least 1.`);
  if (config !== undefined) checkFile(config);
  return {
    ...{ model, bots: botsIn(options.bots), tasks: chosen(all, options).map(({ name }) => name), timeoutSeconds },
    ...(url === undefined ? {} : { url: checkedUrl(url) }),
    ...(keyEnv === undefined ? {} : { keyEnv }),
    ...(config === undefined ? {} : { config: resolve(config) }),
    at: new Date().toISOString(),
  };
}

function chosen(all: readonly Task[], { only, all: isAll = false }: TrialOptions): readonly Task[] {
  if (only === undefined) return all.filter(({ isQuick }) => isQuick || isAll);
  const wanted = wordsIn(only);
  const known = new Set([...all.flatMap(({ tags }) => tags), ...all.map(({ name }) => name)]);
  const unknown = wanted.filter((word) => !known.has(word));
  if (wanted.length === 0 || unknown.length > 0)
    throw new Error(`No task has the name or the tag "${unknown.join(", ")}". There are: ${[...known].join(", ")}`);
  return all.filter(({ name, tags }) => [name, ...tags].some((word) => wanted.includes(word)));
}

function botsIn(list = botNames.join(",")): string[] {
  const bots = wordsIn(list);
  if (bots.length === 0 || bots.some((name) => !botNames.includes(name)))
    throw new Error(`--bots ${list}: it takes ${botNames.join(", ")}, separated by commas.`);
  return bots;
}

function wordsIn(list: string): string[] {
  const words = list.split(",").map((word) => word.trim());
  return [...new Set(words)].filter((word) => word !== "");
}

function checkedUrl(url: string): string {
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw new Error(`--url ${url}: write an address such as http://127.0.0.1:8080/v1.`);
}

function checkFile(file: string): void {
  try {
    readFileSync(file);
  } catch (thrown) {
    throw new Error(`--config ${file} can't be read (${codeOf(thrown)}).`);
  }
}
