/** A home with a configured folder, a scripted model, and the processes that run and die on it. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { silentLog } from "../../../src/lib/log.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import { openLedger } from "../../../src/storage/open-state.ts";
import { type CallingModel, startCallingModel } from "../../doubles/calling-model.ts";
import { type RedisServer, startRedisServer } from "../../doubles/redis-server.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../../doubles/remora-process.ts";

export interface DraftWorld {
  home: RemoraHome;
  /** All files of the world, including the home. */
  root: string;
  /** The configured folder of the channel `random`. */
  site: string;
  /** The own folder of the channel `general`. */
  own: string;
  model: CallingModel;
  redis: RedisServer | undefined;
  /** Names the settings and the model. */
  env: Record<string, string>;
  start(env?: Record<string, string>, args?: string[]): Promise<RemoraProcess>;
  /** Read from outside the processes. */
  ledger(): Promise<Ledger>;
  /** The recorded steps so far (test/faults/kill-steps.ts). */
  steps(): Promise<string[]>;
  logged(): string;
  close(): Promise<void>;
}

const stepsModule = resolve(import.meta.dirname, "../../faults/kill-steps.ts");
/** The shortest allowed value, so recovery is quick. */
const lockMs = 1_000;
const waitMs = 3_000;

export async function createDraftWorld(store: "embedded" | "redis", config: object = {}): Promise<DraftWorld> {
  const [home, model] = await Promise.all([createHome(), startCallingModel()]);
  const redis = store === "redis" ? await startRedisServer() : undefined;
  const root = join(home.workspace, "..");
  const [site, own] = [join(root, "site"), join(home.workspace, "files", "channel:general")];
  for (const folder of [site, own]) await mkdir(folder, { recursive: true });
  const configFile = join(root, "remora.yaml");
  const settings = { folders: { "local:channel:random": site }, redis: { lockMs, waitMs }, ...config };
  await writeFile(configFile, JSON.stringify(settings));
  const stepsFile = join(root, "steps.txt");
  const env = {
    REMORA_CONFIG: configFile,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: model.url,
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  };
  const recording = {
    REMORA_PORT_WRAPPERS: stepsModule,
    REMORA_STEPS_ROOT: root,
    REMORA_STEPS_FILE: stepsFile,
  };
  let ledger: Promise<Ledger> | undefined;
  const processes: RemoraProcess[] = [];
  return {
    ...{ home, root, site, own, model, redis, env },
    async start(more = {}, args = []) {
      const started = await startRemora(home, { ...env, ...recording, ...more }, args);
      processes.push(started);
      return started;
    },
    ledger() {
      const journals = join(home.workspace, "journals");
      const settings = redis === undefined ? null : { url: redis.url, prefix: "remora", lockMs, waitMs, journals };
      ledger ??= openLedger({ data: home.data, redis: settings, log: silentLog });
      return ledger;
    },
    async steps() {
      return (await readFile(stepsFile, "utf8").catch(() => "")).split("\n").filter(Boolean);
    },
    logged: () => processes.map((each) => each.stderr()).join(""),
    async close() {
      await Promise.all(processes.map((each) => each.kill()));
      await (await ledger)?.close();
      await model.close();
      await redis?.dispose();
      await home.remove();
    },
  };
}
