/** A home, the services around it, and the processes that run and die on it. */
import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLog } from "../../../src/lib/log.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import { openLedger } from "../../../src/storage/open-state.ts";
import { type RedisServer, startRedisServer } from "../../doubles/redis-server.ts";
import { startRemora as startHere } from "../../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora,
} from "../../doubles/remora-process.ts";
import { supervised } from "../supervised.ts";
import { type EffectServer, startEffectServer } from "./effect-server.ts";
import { writeEffectsSkill } from "./effects-skill.ts";
import { type Answer, startScriptedModel } from "./scripted-model.ts";

export interface World {
  home: RemoraHome;
  effects: EffectServer;
  redis: RedisServer | undefined;
  /** The ledger, read from outside the processes. */
  ledger: Ledger;
  start(env?: Record<string, string>, args?: string[], onSpawn?: (child: ChildProcess) => void): Promise<RemoraProcess>;
  /** Within the test's process, which is cheaper: for what nothing kills. */
  startHere(args?: string[]): Promise<RunningRemora>;
  /** The logs of all agents, in order. */
  logged(): string;
  close(): Promise<void>;
}

/** Lock expiry after its owner died. */
const lockMs = 1_000;
/** How long a step waits for an unreachable Redis. */
const waitMs = 3_000;

export interface WorldOptions {
  /** Additional settings. */
  config?: Record<string, unknown>;
  answer?: Answer;
}

export async function createWorld(store: "embedded" | "redis", options: WorldOptions = {}): Promise<World> {
  const started = [createHome(), startEffectServer(), startScriptedModel(options.answer)] as const;
  const [home, effects, model] = await Promise.all(started);
  const redis = store === "redis" ? await startRedisServer() : undefined;
  await writeEffectsSkill(home.workspace);
  const configFile = join(home.workspace, "..", "remora.yaml");
  const config = {
    skills: { inProcess: ["effects"], settings: { effects: { url: effects.url } } },
    redis: { lockMs, waitMs },
    ...options.config,
  };
  await writeFile(configFile, JSON.stringify(config));
  const env = {
    REMORA_CONFIG: configFile,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: model.url,
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  };
  let ledger: Ledger | undefined;
  let opening: Promise<Ledger> | undefined;
  const agents: RunningRemora[] = [];
  async function opened(agent: RunningRemora): Promise<void> {
    agents.push(agent);
    const journals = join(home.workspace, "journals");
    const settings = redis === undefined ? null : { url: redis.url, prefix: "remora", lockMs, waitMs, journals };
    // Agents that start side by side share one: nobody would close the other one, which then keeps this process alive.
    opening ??= openLedger({ data: home.data, redis: settings, log: silentLog });
    ledger = await opening;
  }
  return {
    ...{ home, effects, redis },
    logged: () => agents.map((each) => each.stderr()).join(""),
    get ledger() {
      if (ledger === undefined) throw new Error("nothing has been started yet");
      return ledger;
    },
    async start(more = {}, args = [], onSpawn) {
      const started = await supervised(() => startRemora(home, { ...env, ...more }, args, onSpawn));
      await opened(started);
      return started;
    },
    async startHere(args = []) {
      const started = await supervised(() => startHere(home, env, args));
      await opened(started);
      return started;
    },
    async close() {
      await ledger?.close();
      await Promise.all([effects.close(), model.close()]);
      await redis?.dispose();
      await home.remove();
    },
  };
}
