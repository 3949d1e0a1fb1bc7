/** Lets bots play tasks, one after the other, and judges what they have done. */
import { messageOf } from "../lib/errors.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { Prices } from "../usage/price-table.ts";
import { costOf, createPriceList } from "../usage/prices.ts";
import type { Bot, BotSession, Effects, PlayedCall, Said } from "./bot.ts";
import { findingsOf } from "./judge.ts";
import type { Task } from "./task.ts";
import { hadNoConnection, type ModelTraffic, recordTraffic, usageIn } from "./traffic.ts";

export interface PlayOptions {
  tasks: readonly Task[];
  /** Each plays all tasks before the next one does, so that a local server can reuse what it has read. */
  bots: readonly Bot[];
  /** For each answer. */
  timeoutMs: number;
  /** How often each bot plays each task. Default: once. */
  repeat?: number;
  onResult?(result: TaskResult): void;
  /** Ends the play. What has been played until then is the result. */
  signal?: AbortSignal;
  /** Of `models.prices`. At the vendors' own addresses, the shipped prices apply too. */
  prices?: Prices;
}

export interface TaskResult {
  bot: string;
  task: string;
  tags: readonly string[];
  /** From 1, if tasks are repeated. */
  round: number;
  isSolved: boolean;
  /** In sentences. */
  failures: string[];
  /** `failed`: the bot could not answer, or broke. */
  ended: "answered" | "failed" | "timed out";
  /** To the last message. */
  answer: string;
  calls: readonly PlayedCall[];
  /** Numbers by problem. */
  invalidCalls: Record<string, number>;
  /** An effect is missing, and the model has answered without calling a tool. */
  wordsInsteadOfCalls: boolean;
  cards: number;
  requests: number;
  /** The cached ones included. */
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** Absent if a request's model has no price, or if no request was connected. */
  dollars?: number;
  /** From the first message to the last answer. */
  seconds: number;
  traffic: ModelTraffic[];
}

const okStatus = 200;
const noAnswer: Said = { text: "", state: "failed" };
const nothing: Effects = { files: {}, notes: [], reminders: [], calls: [], cards: 0 };

export async function playTasks(options: PlayOptions): Promise<TaskResult[]> {
  const { tasks, bots, repeat = 1, onResult, signal } = options;
  const results: TaskResult[] = [];
  const recorder = recordTraffic();
  try {
    for (const bot of bots) {
      for (const task of tasks) {
        for (let round = 1; round <= repeat; round++) {
          if (signal?.aborted) return results;
          const result = await playOne(task, bot, { ...options, round, take: recorder.take });
          if (signal?.aborted) return results;
          results.push(result);
          onResult?.(result);
        }
      }
    }
    return results;
  } finally {
    recorder.stop();
  }
}

interface OneOptions extends PlayOptions {
  round: number;
  take(): ModelTraffic[];
}

interface Played {
  said: Said;
  effects: Effects;
  ended: TaskResult["ended"];
  /** Why nothing can be judged. */
  problem?: string;
  milliseconds: number;
}

async function playOne(task: Task, bot: Bot, { take, round, ...options }: OneOptions): Promise<TaskResult> {
  // What an earlier task has left behind does not count.
  take();
  const { said, effects, ended, problem, milliseconds } = await play(task, bot, options);
  const findings =
    problem === undefined ? findingsOf(task, said, effects, bot) : [{ sentence: problem, needsCall: false }];
  const traffic = take();
  const invalid = effects.calls.flatMap(({ status, problem: kind = "other" }) => (status === "invalid" ? [kind] : []));
  return {
    ...{ bot: bot.name, task: task.name, tags: task.tags, round },
    isSolved: findings.length === 0,
    failures: findings.map(({ sentence }) => sentence),
    ...{ ended, answer: said.text, calls: effects.calls, cards: effects.cards },
    invalidCalls: countsOf(invalid),
    wordsInsteadOfCalls:
      effects.calls.length === 0 && !hadNoConnection(traffic) && findings.some(({ needsCall }) => needsCall),
    requests: traffic.length,
    inputTokens: sum(traffic, ({ inputTokens }) => inputTokens),
    cachedTokens: sum(traffic, ({ cachedTokens }) => cachedTokens),
    outputTokens: sum(traffic, ({ outputTokens }) => outputTokens),
    ...dollarsOf(traffic, options.prices),
    seconds: Math.round(milliseconds / 100) / 10,
    traffic,
  };
}

async function play(task: Task, bot: Bot, options: PlayOptions): Promise<Played> {
  let session: BotSession | undefined;
  try {
    session = await bot.open(task);
    const spoken = await speak(task, session, options);
    // What a turn did that came too late or broke is worth seeing, too.
    return { ...spoken, effects: await session.effects() };
  } catch (thrown) {
    return { ...broken(thrown), said: noAnswer, effects: nothing, milliseconds: 0 };
  } finally {
    // Whatever does not end, the result stands, and the next task has an installation of its own.
    await session?.close().catch(() => {});
  }
}

async function speak(
  { turns }: Task,
  session: BotSession,
  { timeoutMs, signal }: PlayOptions,
): Promise<Omit<Played, "effects">> {
  const from = performance.now();
  const elapsed = () => performance.now() - from;
  let said = noAnswer;
  for (const turn of turns) {
    const late = AbortSignal.timeout(timeoutMs);
    try {
      said = await session.say(turn, signal === undefined ? late : AbortSignal.any([signal, late]));
    } catch (thrown) {
      if (!late.aborted) return { ...broken(thrown), said: noAnswer, milliseconds: elapsed() };
      const problem = `There was no answer within ${timeoutMs / 1_000} s.`;
      return { said: noAnswer, ended: "timed out", problem, milliseconds: elapsed() };
    }
  }
  return { said, ended: said.state, milliseconds: elapsed() };
}

function broken(thrown: unknown): Pick<Played, "ended" | "problem"> {
  return { ended: "failed", problem: `The bot broke: ${messageOf(thrown)}` };
}

function countsOf(kinds: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function sum(traffic: readonly ModelTraffic[], of: (one: ModelTraffic) => number | undefined): number {
  return traffic.reduce((total, one) => total + (of(one) ?? 0), 0);
}

/** What the services say themselves, or else by the tables of prices. */
function dollarsOf(traffic: readonly ModelTraffic[], configured: Prices = {}): { dollars?: number } {
  if (hadNoConnection(traffic)) return {};
  let dollars = 0;
  for (const { url, request, response, status } of traffic) {
    const usage = usageIn(response);
    if (usage === undefined && status !== okStatus) continue;
    const cost = usage && (usage.cost ?? costOf(modelOf(url, request), usage, priceListAt(url, configured)));
    if (cost === undefined) return {};
    dollars += cost;
  }
  return { dollars };
}

function modelOf(url: string, request: string): string {
  const body = parseJson(request);
  const provider = url.endsWith("/v1/messages") ? "anthropic" : url.endsWith("/api/chat") ? "ollama" : "openai";
  return `${provider}/${isJsonObject(body) ? body.model : ""}`;
}

function priceListAt(url: string, configured: Prices) {
  const { host } = new URL(url);
  return createPriceList({ configured, hasOwnAddress: (provider) => host === `api.${provider}.com` });
}
