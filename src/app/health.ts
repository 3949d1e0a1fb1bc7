/** Builds the checks of the running process, which `/readyz`, the dashboard, `/remora status` and the chat show. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { countsCache } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { checkDisk } from "../health/disk.ts";
import { markRun, readRun, unmarkRun } from "../health/last-run.ts";
import { type ModelWatch, maxSlowCallMs } from "../health/model-watch.ts";
import { createHealthMonitor, type HealthMonitor, type HealthProbe } from "../health/monitor.ts";
import { restartText } from "../health/owner-notice-text.ts";
import { createOwnerNotices } from "../health/owner-notices.ts";
import { createSharedWorkspace } from "../health/shared-workspace.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { diskFullNotice, isDiskFull } from "../lib/shortage.ts";
import { upperFirst } from "../lib/text/sentence.ts";
import { withoutPlace } from "../lib/text/without-place.ts";
import { untilAborted } from "../lib/until-aborted.ts";
import { createThread, createWorkerThread } from "../lib/worker-thread.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { Notice } from "../ports/message.ts";
import type { Platform } from "../ports/platform.ts";
import { type UsageMeter, usageSubject } from "../ports/usage.ts";
import { maxCheckedBytes, wholeFiles } from "../storage/open-state.ts";
import { damagedText } from "../storage/sqlite/quick-check.ts";
import { cacheChecks } from "../usage/cache-use.ts";
import { type AppOptions, takesTurns } from "./options.ts";
import type { State } from "./state.ts";

export interface Health {
  start(url: string): Promise<void>;
  /** Starts the checks that cost time: they load a model's client, and read large files. */
  startSlowChecks(): void;
  checks(): HealthCheck[];
  /** Tells the owners what broke, and what works again. */
  tellOwners(now: number): Promise<void>;
  /** Why new messages are not accepted, for the person who wrote. */
  refusal(): Notice | undefined;
  close(): Promise<void>;
}

interface HealthParts {
  models: ModelWatch;
  usage: Pick<UsageMeter, "record" | "days">;
  platforms(): readonly Platform[];
}

/** Longer than a reconnection takes. With a check every 30 seconds, owners hear of a problem within a minute. */
const minProblemMs = 15_000;

/** How long people are told that the previous process did not shut down. */
const maxRestartNoteMs = 3_600_000;
/** A call costs a little if the model answers. */
const modelsEveryMs = 60_000;
/** A check reads the whole file. */
const maxFilesMs = 600_000;
const filesEveryMs = 24 * 3_600_000;
const maxModelsMs = maxSlowCallMs + 5_000;
const cacheEveryMs = 600_000;
const maxUsageMs = 5_000;
const maxNamedRecords = 5;
const storeKey = "health:written";

export function buildHealth(options: AppOptions, state: State, parts: HealthParts): Health {
  const { settings, role, log } = options;
  const { minFreeMegabytes, everySeconds, modelCall } = settings.config.health;
  const everyMs = everySeconds * 1_000;
  const minFreeBytes = minFreeMegabytes * 1024 * 1024;
  const { workspace } = settings;
  const shared = state.redis === undefined ? undefined : createSharedWorkspace({ workspace, ledger: state.ledger });
  let restart: HealthCheck[] = [];
  let startedAt = 0;

  const probes: HealthProbe[] = [
    {
      ...{ name: "disk", everyMs },
      run: () =>
        Promise.all([
          checkDisk({ name: "data", path: settings.data }, minFreeBytes),
          checkDisk({ name: "workspace", path: settings.workspace }, minFreeBytes),
        ]),
    },
    { ...{ name: "records", everyMs }, run: () => checkRecords(state) },
    ...(shared === undefined ? [] : [{ name: "shared workspace", everyMs, run: shared.check }]),
    {
      ...{ name: "tokens", everyMs },
      run: async (signal) =>
        (await Promise.all(parts.platforms().map((platform) => probeService(platform, signal)))).flat(),
    },
    { ...{ name: "cache", everyMs: cacheEveryMs }, run: () => checkCaches(settings, parts.usage) },
  ];
  const slowProbes: HealthProbe[] = [
    {
      ...{ name: "files", everyMs: filesEveryMs, maxMs: maxFilesMs },
      run: () => checkLargeFiles(state, settings.data),
    },
    ...(takesTurns(role) && modelCall && options.providers === undefined
      ? [{ name: "models", everyMs: Math.max(everyMs, modelsEveryMs), maxMs: maxModelsMs, run: modelsProbe(parts) }]
      : []),
  ];
  const monitor: HealthMonitor = createHealthMonitor({ log });
  const checks = () => [
    ...monitor.checks(),
    ...parts.models.checks(),
    ...(Date.now() - startedAt < maxRestartNoteMs ? restart : []),
  ];
  const notices = createOwnerNotices({
    ...{ checks, log, store: state.store, minProblemMs: Math.min(minProblemMs, everyMs) },
    services: () => parts.platforms().map((platform) => ({ name: platform.name, ...platform.health() })),
    owners: () => settings.config.safety.owners,
    send: ({ service, ...message }) => sendDirectly(parts.platforms(), service, message),
  });

  return {
    async start(url) {
      const last = await readRun(state.ownFolder);
      startedAt = Date.now();
      markRun(state.ownFolder, { pid: process.pid, startedAt, url });
      if (last !== undefined) {
        const since = new Date(last.startedAt).toISOString();
        const what = `restarted at ${new Date(startedAt).toISOString()}, because the previous process did not shut down`;
        restart = [
          {
            name: "process",
            state: "warning",
            what,
            why: `It had run since ${since}. It was killed, crashed, or lost its power`,
          },
        ];
        notices.restarted(restartText(startedAt));
        log.warn({ pid: last.pid }, `${what}. Unfinished work continues`);
      }
      // The start does not wait: each check has a time limit of its own.
      void monitor.start(probes);
    },
    startSlowChecks: () => void monitor.start(slowProbes),
    checks,
    tellOwners: notices.sweep,
    refusal: () =>
      monitor.checks().some(({ name, state: is }) => name.startsWith("disk ") && is === "broken")
        ? diskFullNotice
        : undefined,
    async close() {
      await monitor.close();
      await shared?.close();
      unmarkRun(state.ownFolder);
    },
  };
}

async function sendDirectly(
  platforms: readonly Platform[],
  service: string,
  { userId, text, key }: { userId: string; text: string; key: string },
): Promise<void> {
  const platform = platforms.find(({ name }) => name === service);
  if (platform?.chat === undefined) return;
  const requester = { id: userId, name: userId, isBot: false, roles: [] };
  const conversationId = await platform.reach.direct(userId);
  await platform.chat.post({ conversationId, requester }, { text, files: [], key });
}

/** Events may still arrive while no request is answered. A refused token is part of the platform's own health. */
async function probeService(platform: Platform, signal: AbortSignal): Promise<HealthCheck[]> {
  try {
    await platform.probe?.(signal);
    return [];
  } catch (thrown) {
    const isLimited = thrown instanceof RemoraError && thrown.retryAfterMs !== undefined;
    if (isLimited || !platform.health().isConnected) return [];
    const why = upperFirst(withoutPlace(messageOf(thrown)));
    return [{ name: platform.name, state: "broken", what: "its API answers no requests, so answers wait", why }];
  }
}

/** Files that are too large to be checked before the start. */
async function checkLargeFiles({ redis }: State, data: string): Promise<HealthCheck[]> {
  if (redis !== undefined) return [];
  const large = wholeFiles
    .map(([file, name]) => ({ name, path: join(data, file) }))
    .filter(({ path }) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > maxCheckedBytes);
  if (large.length === 0) return [];
  const thread = createWorkerThread<string, string[]>({
    thread: createThread({ name: "file check", maxMegabytes: 64, maxIdleMs: 0 }),
    module: new URL("../storage/sqlite/quick-check-thread.ts", import.meta.url),
    ...{ options: {}, onProblem() {} },
  });
  try {
    const found = await Promise.all(large.map(async ({ name, path }) => ({ name, problems: await thread.ask(path) })));
    return found.map(({ name, problems: [problem] }): HealthCheck => {
      if (problem === undefined) return { name, state: "ok", what: "whole" };
      return { name, state: "broken", what: `the ${name} ${damagedText(problem)}` };
    });
  } finally {
    await thread.close("");
  }
}

/** What can't be read now is no news of the caches, and others say that the records are broken. */
async function checkCaches(settings: Settings, usage: Pick<UsageMeter, "days">): Promise<HealthCheck[]> {
  const days = await untilAborted(usage.days(usageSubject.everyone), AbortSignal.timeout(maxUsageMs)).catch(() => []);
  return cacheChecks(days, (model) => countsCache(settings, model), Date.now());
}

/** The calls cost a little, so they are in the usage of everyone. */
function modelsProbe({ models, usage }: HealthParts) {
  return async (signal: AbortSignal): Promise<HealthCheck[]> => {
    await models.check(signal, (call) => void usage.record(call));
    return [];
  };
}

/** Writes and reads a value, because only that proves that Redis or SQLite keeps what it is given. */
async function checkRecords({ store, redis, damagedRecords }: State): Promise<HealthCheck[]> {
  const name = redis === undefined ? "records" : "redis records";
  try {
    const value = Date.now();
    await store.set(storeKey, value);
    // Another process may have written in between.
    const read = await store.get(storeKey);
    if (typeof read !== "number" || read < value)
      return [{ name, state: "broken", what: "what is written is not kept" }];
    const warnings = (await redis?.connection.checks()) ?? [];
    return [
      { name, state: "ok", what: "can be written" },
      ...damagedCheck(damagedRecords()),
      ...warnings.map((what, index): HealthCheck => {
        const isReplica = /read-only replica/.test(what);
        return { name: `redis setting ${index + 1}`, state: isReplica ? "broken" : "warning", what };
      }),
    ];
  } catch (thrown) {
    const why = isDiskFull(thrown) ? "The disk is full" : messageOf(thrown);
    return [{ name, state: "broken", what: "nothing can be written", why }];
  }
}

/** They are left out, so everything else works. */
function damagedCheck(records: string[]): HealthCheck[] {
  if (records.length === 0) return [];
  const named = records.slice(0, maxNamedRecords).join(", ");
  const more = records.length > maxNamedRecords ? ` and ${records.length - maxNamedRecords} more` : "";
  return [
    {
      ...{ name: "damaged records", state: "warning" },
      what: `${records.length === 1 ? "1 record" : `${records.length} records`} can't be read and ${records.length === 1 ? "is" : "are"} left out: ${named}${more}`,
      todo: "Restore a backup if you need them",
    },
  ];
}
