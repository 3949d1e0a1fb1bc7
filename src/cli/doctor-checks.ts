/** The checks of `remora doctor`, from the settings to the services. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { embeddingOptions } from "../app/embeddings.ts";
import { announcedEndings, endingChecks } from "../app/model-endings.ts";
import {
  countsCache,
  hasBudget,
  hasOwnAddress,
  providerSettings,
  redisSettings,
  reportsCost,
} from "../config/derive.ts";
import { readEnvFile } from "../config/env-file.ts";
import type { Environment } from "../config/environment.ts";
import { formatProblems, loadSettings } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";
import { checkDisk, type DiskFolder } from "../health/disk.ts";
import { checkModelCall } from "../health/model-call.ts";
import { checkFolderExists, checkLeftovers, checkPrivate } from "../health/repairs.ts";
import { checkSharing } from "../health/shared-workspace.ts";
import { messageOf } from "../lib/errors.ts";
import { silentLog } from "../lib/log.ts";
import type { HealthCheck } from "../ports/health.ts";
import { usageSubject } from "../ports/usage.ts";
import { createProviders, warningsOf } from "../providers/select.ts";
import { installProxies } from "../proxy/install.ts";
import { problemOfGivenFolder } from "../sandbox/draft/given-folders.ts";
import { createSandbox } from "../sandbox/view/sandbox.ts";
import { checkSkills } from "../skill-runtime/library/load.ts";
import { damagedText, quickCheck, unreadableRecords } from "../storage/sqlite/quick-check.ts";
import { cacheChecks } from "../usage/cache-use.ts";
import { createPriceList } from "../usage/prices.ts";
import { checkService } from "./doctor-service.ts";
import { checkSignIn } from "./doctor-sign-in.ts";
import { interruptedUpgrade } from "./interrupted-upgrade.mjs";
import { openMemory } from "./open-memory.ts";
import { withLedger } from "./open-state.ts";
import { skillRootsOf } from "./settings.ts";

const platformTimeoutMs = 20_000;
const maxListedProblems = 5;
const probeTimeoutMs = 5_000;
/** Long enough to load a local model. */
const modelTimeoutMs = 30_000;

export async function runChecks(env: Environment, root: string): Promise<HealthCheck[]> {
  const node: HealthCheck = { name: "node", state: "ok", what: process.version };
  const loaded = loadSettings(env, root);
  if (loaded.type === "invalid")
    return [node, { name: "config", state: "broken", what: formatProblems(loaded.problems) }];
  const { settings } = loaded;
  await installProxies(settings.proxies);
  const { minFreeMegabytes } = settings.config.health;
  const folders = [
    ...(await checkFolder({ name: "workspace", path: settings.workspace }, minFreeMegabytes)),
    ...(await checkFolder({ name: "data", path: settings.data }, minFreeMegabytes)),
  ];
  const isUsable = existsSync(settings.data) && folders.every((check) => check.state !== "broken");
  return [
    node,
    { name: "config", state: "ok", what: settings.configFile },
    ...(await checkPrivate(readEnvFile(env, root).path, ".env")),
    ...folders,
    ...checkUpgrade(root),
    ...(await checkService(settings)),
    ...checkFiles(settings),
    ...(isUsable
      ? [...(await checkLedger(settings)), await checkMemory(settings), ...(await checkSignIn(settings))]
      : []),
    ...(await checkEmbeddings(settings)),
    await checkSkillFiles(settings),
    ...(await checkModels(settings)),
    ...(await checkPlatforms(settings)),
    await checkSandbox(settings),
    ...(await checkGivenFolders(settings)),
  ];
}

function checkUpgrade(root: string): HealthCheck[] {
  const interrupted = interruptedUpgrade(root);
  return interrupted === undefined ? [] : [{ name: "upgrade", state: "broken", ...interrupted }];
}

async function checkFolder(folder: DiskFolder, minFreeMegabytes: number): Promise<HealthCheck[]> {
  const missing = await checkFolderExists(folder);
  if (missing.length > 0) return missing;
  return [
    { name: folder.name, state: "ok", what: folder.path },
    await checkDisk(folder, minFreeMegabytes * 1024 * 1024),
    ...(folder.name === "data" ? await checkPrivate(folder.path, "data") : []),
    ...(await checkLeftovers(folder)),
  ];
}

/** With Redis, there is no ledger file. */
function checkFiles({ data, redisUrl }: Settings): HealthCheck[] {
  const files = redisUrl === null ? ["ledger.db", "store.db", "local.db"] : ["local.db"];
  return files.flatMap((file): HealthCheck[] => {
    const path = join(data, file);
    if (!existsSync(path)) return [];
    const [problem] = quickCheck(path);
    const unreadable = problem === undefined && file === "ledger.db" ? unreadableRecords(path) : [];
    if (unreadable.length > 0) return [unreadableCheck(file, unreadable)];
    if (problem === undefined) return [{ name: file, state: "ok", what: "whole" }];
    return [{ name: file, state: "broken", what: `${path} ${damagedText(problem)}` }];
  });
}

function unreadableCheck(name: string, records: string[]): HealthCheck {
  return {
    ...{ name, state: "warning", what: `records that can't be read and are left out: ${records.join(", ")}` },
    todo: "Restore a backup if you need them",
  };
}

async function checkGivenFolders({ config }: Settings): Promise<HealthCheck[]> {
  const folders = [...new Set(Object.values(config.folders))];
  return await Promise.all(
    folders.map(async (folder): Promise<HealthCheck> => {
      const problem = await problemOfGivenFolder(folder);
      return { name: "folders", state: problem === undefined ? "ok" : "broken", what: problem ?? folder };
    }),
  );
}

async function checkPlatforms({ discord, slack, config }: Settings): Promise<HealthCheck[]> {
  const signal = AbortSignal.timeout(platformTimeoutMs);
  const states = { ok: "ok", warning: "warning", error: "broken" } as const;
  const checks: HealthCheck[] = [];
  if (discord !== null) {
    const { checkDiscord } = await import("../platforms/discord/doctor.ts");
    const found = await checkDiscord(discord, signal);
    checks.push(...found.map(({ level, text }) => ({ name: "discord", state: states[level], what: text })));
  }
  if (slack !== null) {
    const { checkSlack } = await import("../platforms/slack/doctor.ts");
    const found = await checkSlack(slack, signal, config.slack.access.guests);
    checks.push(...found.map(({ level, text }) => ({ name: "slack", state: states[level], what: text })));
  }
  return checks;
}

/** With Redis, also checks that it keeps what it is given. */
async function checkLedger(settings: Settings): Promise<HealthCheck[]> {
  const name = "ledger";
  const redis = redisSettings(settings);
  try {
    return await withLedger(settings, async (ledger) => {
      const turns = await ledger.list("turn", { states: ["running", "parked"] });
      const parked = turns.filter(({ state }) => state === "parked").length;
      const what = `${turns.length - parked} turns running, ${parked} waiting for approval`;
      const ofRedis =
        redis === null
          ? []
          : [...(await checkRedis(redis)), ...(await checkSharing({ workspace: settings.workspace, ledger }))];
      const days = (await ledger.list("usage", { group: usageSubject.everyone })).map(({ body }) => body);
      const ofCaches = cacheChecks(days, (model) => countsCache(settings, model), Date.now());
      return [{ name, state: "ok", what }, ...ofRedis, ...ofCaches];
    });
  } catch (thrown) {
    return [{ name, state: "broken", what: messageOf(thrown) }];
  }
}

async function checkRedis({ url }: { url: string }): Promise<HealthCheck[]> {
  const { createRedisConnection } = await import("../storage/redis/connection.ts");
  const connection = createRedisConnection(url, silentLog, { waitMs: probeTimeoutMs });
  try {
    const warnings = await connection.checks();
    if (warnings.length === 0) return [{ name: "redis", state: "ok", what: "keeps what it is given" }];
    return warnings.map((what) => ({ name: "redis", state: what.includes("replica") ? "broken" : "warning", what }));
  } finally {
    await connection.close();
  }
}

/** Updates the index, because only a successful update proves that it works. */
async function checkMemory(settings: Settings): Promise<HealthCheck> {
  const name = "memory";
  try {
    const memory = await openMemory(settings);
    const { count, problems } = await memory.refreshDocuments();
    const shared = await memory.count(["shared"]);
    await memory.close();
    const documents = count === 0 ? "" : `, ${count} ${count === 1 ? "document" : "documents"} in knowledge/`;
    const what = `search index up to date, ${shared} shared entries${documents}`;
    if (problems.length === 0) return { name, state: "ok", what };
    const listed = problems.slice(0, maxListedProblems).map(({ path, problem }) => `${path}: ${problem}`);
    const more = problems.length - listed.length;
    const rest = more === 0 ? "" : `; and ${more} more`;
    return { name, state: "warning", what: `${what}. Not searched: ${listed.join("; ")}${rest}` };
  } catch (thrown) {
    return { name, state: "broken", what: messageOf(thrown) };
  }
}

/** Requests one vector, because only that proves that the key and the model work. */
async function checkEmbeddings(settings: Settings): Promise<HealthCheck[]> {
  const { embeddings } = embeddingOptions(settings);
  if (embeddings === undefined) return [];
  const { model, address, embed } = embeddings.embedder;
  const name = "embeddings";
  try {
    const [vector] = await embed(["Remora"], "question", AbortSignal.timeout(modelTimeoutMs));
    const todo = "For progress: npm run -s remora -- memory status";
    return [{ name, state: "ok", what: `${model} at ${address} gives vectors of ${vector?.length} numbers`, todo }];
  } catch (thrown) {
    return [{ name, state: "broken", what: messageOf(thrown) }];
  }
}

async function checkSkillFiles(settings: Settings): Promise<HealthCheck> {
  const reports = await checkSkills(skillRootsOf(settings));
  const faulty = reports.filter((report) => report.verdict !== "accept");
  const what = `${reports.length - faulty.length} of ${reports.length} SKILL.md files have no problems`;
  if (faulty.length === 0) return { name: "skills", state: "ok", what };
  return { name: "skills", state: "warning", what, todo: "For details: npm run -s remora -- skills check" };
}

/** Asks each model for one word, because only an answer proves that its key works. */
async function checkModels(settings: Settings): Promise<HealthCheck[]> {
  const isChat = settings.discord !== null || settings.slack !== null;
  const asked = { ...providerSettings(settings), refusesDemo: isChat };
  try {
    const { providers, statuses, demoInstead } = await createProviders(asked, AbortSignal.timeout(probeTimeoutMs));
    const order: string[] = settings.config.models.order;
    const hasModel = providers.some(({ name }) => name !== "demo");
    const orNot = (name: string) =>
      hasModel && order.includes(name) ? { todo: `If you don't use it, take ${name} out of models.order` } : {};
    const off = statuses
      .filter(({ isReady, name }) => !isReady && name !== "demo")
      .map(
        ({ name, model, hint }): HealthCheck => ({
          ...{ name: "model", state: "warning", what: `${model}: ${hint}` },
          ...orNot(name),
        }),
      );
    const announced = announcedEndings(settings, providers, AbortSignal.timeout(probeTimeoutMs));
    /** Their services say what each call costs. */
    const reporting = new Set<string>();
    const called = await Promise.all(
      providers.map(async (provider): Promise<HealthCheck> => {
        const { model } = provider;
        const { hint = "", reason } = statuses.find((status) => status.model === model) ?? {};
        if (provider.name === "demo")
          return { name: "model", state: demoInstead === "" ? "ok" : "warning", what: `${model}: ${hint}` };
        const result = await checkModelCall(provider, { signal: AbortSignal.timeout(modelTimeoutMs) });
        if (result.ok && result.usage.cost !== undefined) reporting.add(model);
        if (!result.ok) return { name: "model", state: "warning", what: result.problem, todo: result.fix };
        const what = `${model} answered in ${result.milliseconds} ms`;
        return { name: "model", state: "ok", what, ...(reason === undefined ? {} : { why: `It is ${reason}` }) };
      }),
    );
    // With one model that answers, the others only need attention.
    const isBroken = called.every(({ state }) => state !== "ok");
    const ready = statuses.filter(({ isReady }) => isReady).map(({ model }) => model);
    const advice = providers.flatMap((provider) => provider.advice?.() ?? []);
    return [
      ...called.map((check) => (isBroken ? { ...check, state: "broken" as const } : check)),
      ...advice.map(({ what, todo }): HealthCheck => ({ name: "model", state: "warning", what, todo })),
      ...off,
      ...warningsOf(statuses),
      ...checkPrices(
        settings,
        ready.filter((model) => !reporting.has(model)),
      ),
      ...endingChecks(settings, providers, { announced: await announced }),
    ];
  } catch (thrown) {
    return [{ name: "model", state: "broken", what: messageOf(thrown) }];
  }
}

/** Only models without a price need attention, and only if there is a budget in dollars. */
function checkPrices(settings: Settings, ready: string[]): HealthCheck[] {
  const { dollars } = settings.config.limits;
  if (!hasBudget(dollars)) return [];
  const priceOf = createPriceList({
    configured: settings.config.models.prices,
    hasOwnAddress: (provider) => hasOwnAddress(settings, provider),
  });
  const what =
    dollars.unpriced === "refuse"
      ? "calls are refused where a budget in dollars applies"
      : "no budget counts its calls";
  return ready
    .filter((model) => priceOf(model) === undefined && !reportsCost(settings, model))
    .map((model) => ({ name: "budget", state: "warning", what: `${model} has no price in models.prices, so ${what}` }));
}

async function checkSandbox({ config, data }: Settings): Promise<HealthCheck> {
  const name = "sandbox";
  const mode = config.safety.sandbox;
  if (mode === "off") {
    const what = "switched off by safety.sandbox, so only safety.owners can approve shell commands";
    return { name, state: "warning", what };
  }
  const sandbox = createSandbox({ folder: join(data, "sandbox"), log: silentLog });
  const { holds, detail } = await sandbox.probe();
  await sandbox.close();
  if (holds) return { name, state: "ok", what: detail };
  const why = "Until it works, every command asks and only safety.owners can approve";
  return { name, state: mode === "required" ? "broken" : "warning", what: detail, why };
}
