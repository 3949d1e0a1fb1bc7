/** What `remora init` needs from the parts of Remora: checks, links, folders and files (src/setup/services.ts). */

import { spawn } from "node:child_process";
import { access, constants, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ollamaSettings } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import { loadSettings } from "../config/load.ts";
import { configSchema } from "../config/schema.ts";
import { isAlive, readRuns } from "../health/last-run.ts";
import { checkModelCall } from "../health/model-call.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import { inviteUrl } from "../platforms/discord/api/permissions.ts";
import { addressProblem } from "../providers/address-problem.ts";
import { createAnthropicProvider } from "../providers/anthropic.ts";
import { createOllamaProvider } from "../providers/ollama.ts";
import { advisedModel, chatModels, defaultOllamaHost, probeOllama } from "../providers/ollama-models.ts";
import { createOpenAiProvider } from "../providers/openai.ts";
import type { ModelChoice, Setup, SetupServices } from "../setup/services.ts";
import { listSlackPeople } from "../setup/slack-people.ts";
import { listenProblem } from "./doctor-service.ts";

const modelTimeoutMs = 30_000;
/** Long enough to load a large local model. */
const localModelTimeoutMs = 180_000;
const probeTimeoutMs = 2_000;
/** Loads a model as the start does without settings, so that the first message need not load it again. */
const { host: _host, model: _model, ...loadedOllama } = ollamaSettings(configSchema.parse({}));
const modelListSchema = z.object({ data: z.array(z.object({ id: z.string() })) });
const maxSecretBytes = 64 * 1024;

export async function setupServices({
  environment,
  envFile,
  config,
  root,
}: Pick<Setup, "environment" | "envFile" | "config"> & { root: string }): Promise<SetupServices> {
  const named = (name: string) => environment[name] || envFile.get(name);
  const slack = () => import("../platforms/slack/doctor-tokens.ts");
  const slackPlace = () => ({ apiUrl: named("SLACK_API_URL") });
  return {
    defaultModels: { anthropic: "claude-sonnet-5-5", openai: "gpt-6-luna", ollama: "", compatible: "" },
    checkModel: (choice) => checkModel(choice, named, config),
    advisedOllamaModel: advisedModel,
    listOllamaModels,
    listCompatibleModels,
    slackLink: await slackLink(),
    checkSlackBot: async (token) => (await slack()).checkBotToken(token, slackPlace()),
    checkSlackApp: async (token, appId) => (await slack()).checkAppToken(token, appId, slackPlace()),
    listSlackPeople: (token) => listSlackPeople(token, named("SLACK_API_URL")),
    checkDiscord: async (token) => {
      const { checkToken } = await import("../platforms/discord/doctor-token.ts");
      return await checkToken(token, { apiUrl: named("DISCORD_API_URL") });
    },
    discordInvite: inviteUrl,
    problemOfFolder,
    takenPort: () => takenPort(environment, root, named),
    openLink,
    readSecretFile,
  };
}

/** The manifest without its comments, as JSON, because the link must stay short enough for a browser. */
async function slackLink(): Promise<string> {
  const text = await readFile(new URL("../../slack/manifest.yaml", import.meta.url), "utf8");
  const json = encodeURIComponent(JSON.stringify(parse(text))).replaceAll(/%3A|%2C|%2F/g, decodeURIComponent);
  return `https://api.slack.com/apps?new_app=1&manifest_json=${json}`;
}

async function checkModel(
  { provider, model, key, url }: ModelChoice,
  named: (name: string) => string | undefined,
  config: Setup["config"],
) {
  const written = config.get(["models", provider === "anthropic" ? "anthropic" : "openai", "baseUrl"]);
  const own = provider === "anthropic" ? named("ANTHROPIC_BASE_URL") : undefined;
  const baseUrl = url ?? own ?? (typeof written === "string" && !written.includes("${") ? written : undefined);
  const names = { modelSetting: "the model's name", urlSetting: "the address" };
  const place = { ...names, ...(baseUrl === undefined ? {} : { baseUrl }) };
  const wrong =
    baseUrl === undefined || provider === "ollama"
      ? undefined
      : addressProblem(baseUrl, provider === "anthropic" ? "anthropic" : "openai", "The address");
  if (wrong !== undefined)
    return { ok: false as const, code: "provider.bad-url", problem: `${wrong}.`, fix: "Correct it." };
  const signal = AbortSignal.timeout(provider === "ollama" ? localModelTimeoutMs : modelTimeoutMs);
  switch (provider) {
    case "anthropic":
      return await checkModelCall(createAnthropicProvider({ apiKey: key ?? "not-needed", model, ...place }), {
        signal,
      });
    case "openai":
    case "compatible": {
      const given = key === undefined ? {} : { apiKey: key };
      return await checkModelCall(createOpenAiProvider({ ...given, model, ...place }), { signal });
    }
    case "ollama":
      return await checkModelCall(
        createOllamaProvider({ ...loadedOllama, ...names, model, ...(url === undefined ? {} : { host: url }) }),
        { signal },
      );
    default:
      return provider satisfies never;
  }
}

async function listOllamaModels(url: string | undefined): Promise<string[] | undefined> {
  const models = await probeOllama(url ?? defaultOllamaHost, AbortSignal.timeout(probeTimeoutMs));
  return models && chatModels(models).map(({ name }) => name);
}

async function listCompatibleModels(url: string, key: string | undefined): Promise<string[] | undefined> {
  try {
    const response = await fetchDirectly(`${url.replace(/\/$/, "")}/models`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(probeTimeoutMs),
    });
    return modelListSchema.parse(await response.json()).data.map(({ id }) => id);
  } catch {
    return undefined;
  }
}

async function problemOfFolder(folder: string): Promise<string | undefined> {
  const probe = join(folder, `.init-${process.pid}.tmp`);
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.R_OK | constants.W_OK);
    await writeFile(probe, "");
    await rm(probe);
    return undefined;
  } catch (thrown) {
    return `I can't write in ${folder} (${messageOf(thrown)}). Choose another folder, or change its owner.`;
  }
}

/** A port that this installation itself uses is not taken: then Remora runs already, and the start says so. */
async function takenPort(
  environment: Environment,
  root: string,
  named: (name: string) => string | undefined,
): Promise<number | undefined> {
  const loaded = loadSettings(environment, root);
  // The start explains what is wrong with the settings.
  if (loaded.type === "invalid") return undefined;
  const { config, data } = loaded.settings;
  const port = Number(named("REMORA_PORT") ?? config.web.port);
  if ((await readRuns(data)).some(isAlive)) return undefined;
  return (await listenProblem({ ...config.web, port })) === "EADDRINUSE" ? port : undefined;
}

/** Does nothing without a screen, or over SSH, where the browser would open on the wrong machine. */
async function openLink(url: string): Promise<void> {
  const { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = process.env;
  if (SSH_CONNECTION || (process.platform === "linux" && !DISPLAY && !WAYLAND_DISPLAY)) return;
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}

async function readSecretFile(path: string): Promise<string> {
  const failed = (message: string) => new RemoraError({ code: "setup.secret-file", place: path, message });
  const text = await readFile(path, "utf8").catch((thrown: unknown) => {
    throw failed(`this file can't be read: ${messageOf(thrown)}. Check the path and its permissions`);
  });
  if (text.length > maxSecretBytes) throw failed("this file is too large. Use a file that holds only the secret");
  if (text.trim() === "") throw failed("this file is empty. Write the secret into it");
  return text.trim();
}
