/** `remora doctor` says what to do about each problem. A failed check sets exit code 1; a note does not. */
import { access, constants, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { embeddingOptions } from "../app/embeddings.ts";
import { hasBudget, hasOwnAddress, providerSettings, redisSettings } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import { formatProblems, loadSettings } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";
import { messageOf } from "../lib/errors.ts";
import { silentLog } from "../lib/log.ts";
import { createProviders } from "../providers/select.ts";
import { problemOfGivenFolder } from "../sandbox/draft/given-folders.ts";
import { createSandbox } from "../sandbox/view/sandbox.ts";
import { checkSkills } from "../skill-runtime/library/load.ts";
import { openLedger } from "../storage/open-state.ts";
import { createPriceList } from "../usage/prices.ts";
import { openMemory } from "./open-memory.ts";
import { skillRootsOf } from "./settings.ts";

interface Check {
  name: string;
  state: "ok" | "note" | "failed";
  detail: string;
}

export async function doctorCommand(env: Environment, root: string, options: { json?: boolean }): Promise<void> {
  const checks = await runChecks(env, root);
  const isHealthy = checks.every((check) => check.state !== "failed");
  if (!isHealthy) process.exitCode = 1;
  const lines = checks.map(({ name, state, detail }) => `${state.padEnd(7)} ${name.padEnd(10)} ${detail}`);
  process.stdout.write(options.json ? `${JSON.stringify({ isHealthy, checks }, null, 1)}\n` : `${lines.join("\n")}\n`);
}

async function runChecks(env: Environment, root: string): Promise<Check[]> {
  const node: Check = { name: "node", state: "ok", detail: process.version };
  const loaded = loadSettings(env, root);
  if (loaded.type === "invalid")
    return [node, { name: "config", state: "failed", detail: formatProblems(loaded.problems) }];
  const { settings } = loaded;
  const folders = await Promise.all([checkFolder("workspace", settings.workspace), checkFolder("data", settings.data)]);
  const isUsable = folders.every((check) => check.state === "ok");
  return [
    node,
    { name: "config", state: "ok", detail: settings.configFile },
    ...folders,
    ...(isUsable ? [await checkLedger(settings), await checkMemory(settings)] : []),
    ...(await checkEmbeddings(settings)),
    await checkSkillFiles(settings),
    ...(await checkModels(settings)),
    ...(await checkPlatforms(settings)),
    await checkSandbox(settings),
    ...(await checkGivenFolders(settings)),
  ];
}

async function checkFolder(name: string, folder: string): Promise<Check> {
  const probe = join(folder, `.doctor-${process.pid}.tmp`);
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.R_OK | constants.W_OK);
    await writeFile(probe, "");
    await rm(probe);
    return { name, state: "ok", detail: folder };
  } catch (thrown) {
    return {
      name,
      state: "failed",
      detail: `${folder} can't be written: ${messageOf(thrown)}. Check its owner, its permissions and the disk`,
    };
  }
}

async function checkGivenFolders({ config }: Settings): Promise<Check[]> {
  const folders = [...new Set(Object.values(config.folders))];
  return await Promise.all(
    folders.map(async (folder): Promise<Check> => {
      const problem = await problemOfGivenFolder(folder);
      return { name: "folders", state: problem === undefined ? "ok" : "failed", detail: problem ?? folder };
    }),
  );
}

const platformTimeoutMs = 20_000;
const maxListedProblems = 5;
const modelTimeoutMs = 5_000;
/** Long enough to load a local model. */
const embeddingTimeoutMs = 30_000;

async function checkPlatforms({ discord, slack }: Settings): Promise<Check[]> {
  const signal = AbortSignal.timeout(platformTimeoutMs);
  const states = { ok: "ok", warning: "note", error: "failed" } as const;
  const checks: Check[] = [];
  if (discord !== null) {
    const { checkDiscord } = await import("../platforms/discord/doctor.ts");
    const found = await checkDiscord(discord, signal);
    checks.push(...found.map(({ level, text }) => ({ name: "discord", state: states[level], detail: text })));
  }
  if (slack !== null) {
    const { checkSlack } = await import("../platforms/slack/doctor.ts");
    const found = await checkSlack(slack, signal);
    checks.push(...found.map(({ level, text }) => ({ name: "slack", state: states[level], detail: text })));
  }
  return checks;
}

async function checkLedger(settings: Settings): Promise<Check> {
  const name = "ledger";
  try {
    const ledger = await openLedger({ data: settings.data, redis: redisSettings(settings), log: silentLog });
    const [running, parked] = await Promise.all([
      ledger.list("turn", { states: ["running"] }),
      ledger.list("turn", { states: ["parked"] }),
    ]);
    await ledger.close();
    return { name, state: "ok", detail: `${running.length} turns running, ${parked.length} waiting for approval` };
  } catch (thrown) {
    return { name, state: "failed", detail: messageOf(thrown) };
  }
}

/** Updates the index, because only a successful update proves that it works. */
async function checkMemory(settings: Settings): Promise<Check> {
  const name = "memory";
  try {
    const memory = await openMemory(settings);
    const { count, problems } = await memory.refreshDocuments();
    const shared = await memory.count(["shared"]);
    await memory.close();
    const documents = count === 0 ? "" : `, ${count} ${count === 1 ? "document" : "documents"} in knowledge/`;
    const detail = `search index up to date, ${shared} shared entries${documents}`;
    if (problems.length === 0) return { name, state: "ok", detail };
    const listed = problems.slice(0, maxListedProblems).map(({ path, problem }) => `${path}: ${problem}`);
    const more = problems.length - listed.length;
    const rest = more === 0 ? "" : `; and ${more} more`;
    return { name, state: "note", detail: `${detail}. Not searched: ${listed.join("; ")}${rest}` };
  } catch (thrown) {
    return { name, state: "failed", detail: messageOf(thrown) };
  }
}

/** Requests one vector, because only that proves that the key and the model work. */
async function checkEmbeddings(settings: Settings): Promise<Check[]> {
  const { embeddings } = embeddingOptions(settings);
  if (embeddings === undefined) return [];
  const { model, address, embed } = embeddings.embedder;
  const name = "embeddings";
  try {
    const [vector] = await embed(["Remora"], "question", AbortSignal.timeout(embeddingTimeoutMs));
    const detail = `${model} at ${address} gives vectors of ${vector?.length} numbers. For progress: npm run -s remora -- memory status`;
    return [{ name, state: "ok", detail }];
  } catch (thrown) {
    return [{ name, state: "failed", detail: messageOf(thrown) }];
  }
}

async function checkSkillFiles(settings: Settings): Promise<Check> {
  const reports = await checkSkills(skillRootsOf(settings));
  const faulty = reports.filter((report) => report.verdict !== "accept");
  const detail = `${reports.length - faulty.length} of ${reports.length} SKILL.md files have no problems`;
  if (faulty.length === 0) return { name: "skills", state: "ok", detail };
  return { name: "skills", state: "note", detail: `${detail}. For details: npm run -s remora -- skills check` };
}

async function checkModels(settings: Settings): Promise<Check[]> {
  const { statuses } = await createProviders(providerSettings(settings), AbortSignal.timeout(modelTimeoutMs));
  const ready = statuses.filter(({ isReady }) => isReady).map(({ model }) => model);
  return [
    ...statuses.map(
      ({ model, isReady, hint }): Check => ({
        name: "model",
        state: isReady ? "ok" : "note",
        detail: `${model}: ${hint}`,
      }),
    ),
    ...checkPrices(settings, ready),
  ];
}

/** Only models without a price need attention, and only if there is a budget in dollars. */
function checkPrices(settings: Settings, ready: string[]): Check[] {
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
    .filter((model) => priceOf(model) === undefined)
    .map((model) => ({ name: "budget", state: "note", detail: `${model} has no price in models.prices, so ${what}` }));
}

async function checkSandbox({ config, data }: Settings): Promise<Check> {
  const name = "sandbox";
  const mode = config.safety.sandbox;
  if (mode === "off")
    return {
      name,
      state: "note",
      detail: "switched off by safety.sandbox, so only safety.owners can approve shell commands",
    };
  const sandbox = createSandbox({ folder: join(data, "sandbox"), log: silentLog });
  const { holds, detail } = await sandbox.probe();
  await sandbox.close();
  if (holds) return { name, state: "ok", detail };
  const advice = "until it works, every command asks and only safety.owners can approve";
  return { name, state: mode === "required" ? "failed" : "note", detail: `${detail}; ${advice}` };
}
