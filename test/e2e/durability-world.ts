/** A home, a model and tools whose answers a test can hold back, optionally Redis, and the processes on them. */
import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { StoredMessage } from "../../src/platforms/local/chat-message.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { openLedger } from "../../src/storage/open-state.ts";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "../doubles/redis-server.ts";
import { startRemora as startHere } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora,
} from "../doubles/remora-process.ts";
import { startEffectServer } from "./chaos/effect-server.ts";
import { writeEffectsSkill } from "./chaos/effects-skill.ts";
import { createPerson, type Person, type Served } from "./chaos/person.ts";
import { startScriptedModel } from "./chaos/scripted-model.ts";
import { type Gate, startGate } from "./durability-gate.ts";
import { supervised } from "./supervised.ts";

export interface DurabilityWorld {
  home: RemoraHome;
  redis: RedisServer;
  /** In front of the model; records all requests. */
  model: Gate;
  /** In front of the server that receives the tools' effects. */
  tools: Gate;
  /** How often this id's effect happened. */
  effects(id: string): number;
  /** The environment of the processes. */
  env: Record<string, string>;
  /** Writes these settings in place of the earlier ones, for the next start. */
  configure(config: Record<string, unknown>): Promise<void>;
  /** Starts a process that ends with the world. `data` overrides the home's data folder. */
  start(args?: string[], more?: { env?: Record<string, string>; data?: string }): Promise<RemoraProcess>;
  /** The same within the test's process, which is cheaper: for what no test kills or signals. */
  startHere(args?: string[], more?: { env?: Record<string, string>; data?: string }): Promise<RunningRemora>;
  /** Read from outside the processes; exists after the first start. */
  ledger(): Promise<Ledger>;
  /** A person at the page of the current `front` process; by default the first one started. */
  person: Person;
  front(process: Served): void;
  close(): Promise<void>;
}

export interface WorldOptions {
  redis?: RedisServerOptions;
  /** Lock expiry after its owner died. The default is `shortLockMs`. */
  lockMs?: number;
  /** Additional settings. */
  config?: Record<string, unknown>;
}

/** The shortest allowed value, for tests in which processes die. */
const shortLockMs = 1_000;
/**
 * For tests in which no process dies and everything must happen once. A process that gets no processor time for as long as a
 * lock lasts loses its turns to the next one, which asks the model again. Nothing waits for these locks: a stop releases them.
 */
export const longLockMs = 60_000;
/** How long a step waits for an unreachable Redis. */
const waitMs = 3_000;

export async function createDurabilityWorld(options: WorldOptions = {}): Promise<DurabilityWorld> {
  const { lockMs = shortLockMs } = options;
  const [home, effects, scripted] = await Promise.all([createHome(), startEffectServer(), startScriptedModel()]);
  const [tools, model] = await Promise.all([startGate(effects.url), startGate(scripted.url)]);
  const redis = options.redis === undefined ? undefined : await startRedisServer(options.redis);
  await writeEffectsSkill(home.workspace);
  const configFile = join(home.workspace, "..", "remora.yaml");
  async function configure(config: Record<string, unknown>): Promise<void> {
    const skills = { inProcess: ["effects"], settings: { effects: { url: tools.url } } };
    await writeFile(configFile, JSON.stringify({ skills, redis: { lockMs, waitMs }, ...config }));
  }
  await configure(options.config ?? {});
  const env: Record<string, string> = {
    REMORA_CONFIG: configFile,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: model.url,
    LOG_LEVEL: "info",
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  };
  const processes: RemoraProcess[] = [];
  const here: RunningRemora[] = [];
  let served: Served | undefined;
  const homeWith = (data: string | undefined) => (data === undefined ? home : { ...home, data });
  let ledger: Promise<Ledger> | undefined;
  return {
    ...{ home, model, tools, env, configure, effects: effects.count },
    get redis() {
      if (redis === undefined) throw new Error("this world is without Redis");
      return redis;
    },
    async start(args = [], more = {}) {
      const started = await supervised(() => startRemora(homeWith(more.data), { ...env, ...more.env }, args));
      processes.push(started);
      served ??= started;
      return started;
    },
    async startHere(args = [], more = {}) {
      const started = await supervised(() => startHere(homeWith(more.data), { ...env, ...more.env }, args));
      here.push(started);
      served ??= started;
      return started;
    },
    async ledger() {
      const journals = join(home.workspace, "journals");
      const settings = redis === undefined ? null : { url: redis.url, prefix: "remora", lockMs, waitMs, journals };
      ledger ??= openLedger({ data: home.data, redis: settings, log: silentLog });
      return await ledger;
    },
    person: createPerson(async () => {
      if (served === undefined) throw new Error("nothing has been started yet");
      return served;
    }),
    front(process) {
      served = process;
    },
    async close() {
      await Promise.all([...processes.map((process) => process.kill()), ...here.map((each) => each.stop())]);
      await (await ledger)?.close();
      await Promise.all([tools, model, effects, scripted].map((each) => each.close()));
      await redis?.dispose();
      await home.remove();
    },
  };
}

/** An id like the page's, safe in the scripted model's language. */
export function newId(): string {
  return `m${randomUUID().replaceAll("-", "").slice(0, 12)}`;
}

/** Longer than any test step takes, even on a busy machine. */
export const patienceMs = 90_000;

const firstWaitMs = 25;
const maxWaitMs = 250;

/** Repeats `look` until it passes, less and less often, because each asks the agent or its store. Rejects with its last error. */
export async function eventually<T>(look: () => Promise<T> | T): Promise<T> {
  const until = Date.now() + patienceMs;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 1.5, maxWaitMs)) {
    try {
      return await look();
    } catch (thrown) {
      if (Date.now() > until) throw thrown;
      await wait(waitMs);
    }
  }
}

export function agentsIn(thread: readonly StoredMessage[]): StoredMessage[] {
  return thread.filter((message) => message.author.isBot && !message.isDeleted);
}

/** The thread's final text, if it is there once and nothing is open. */
export async function answerIn({ person }: Pick<DurabilityWorld, "person">, id: string): Promise<string> {
  return await eventually(async () => {
    const agents = agentsIn(await person.thread(id));
    const shown = agents.map(({ type, state, text }) => `${type} ${state} ${text}`).join("\n");
    expect(
      agents.filter(({ state }) => state === "streaming" || state === "waiting"),
      shown,
    ).toEqual([]);
    const ends = agents.filter(({ type, text }) => type === "message" && /Finished\.|⚠️/.test(text));
    expect(ends, shown).toHaveLength(1);
    expect(agents.at(-1)?.id, shown).toBe(ends[0]?.id);
    return ends[0]?.text ?? "";
  });
}

/** Ids of this machine's processes whose `file` in `/proc/<id>` contains the text. */
export async function processesWith(file: "environ" | "cmdline", words: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")));
  return pids.flatMap((pid, index) => (texts[index]?.replaceAll("\0", " ").includes(words) ? [Number(pid)] : []));
}

/** Sends a message that calls a tool, with the message's id as the call's. */
export async function callFor({ person }: Pick<DurabilityWorld, "person">, tool: string): Promise<string> {
  const id = newId();
  await person.say(id, `call ${tool} ${id}`);
  return id;
}

/** Waits until all messages are answered, all turns and calls ended, and all cards settled. */
export async function expectNothingOpen(ledger: Ledger): Promise<void> {
  await eventually(async () => {
    expect(await ledger.list("message", { states: ["queued", "taken"] })).toEqual([]);
    expect(await ledger.list("turn", { states: ["running", "parked"] })).toEqual([]);
    expect(await ledger.list("call", { states: ["planned", "started", "waiting"] })).toEqual([]);
    expect(await ledger.list("approval", { states: ["open", "approved"] })).toEqual([]);
    expect(await ledger.list("notice", { states: ["due"] })).toEqual([]);
  });
}
