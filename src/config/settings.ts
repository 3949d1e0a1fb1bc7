/** The checked configuration combined with the environment, with absolute paths. */
import { delimiter, resolve } from "node:path";
import type { NamedSecret } from "../lib/redact.ts";
import { type Environment, readVariable } from "./environment.ts";
import { type ProxySettings, proxyPasswords, readProxies } from "./proxies.ts";
import type { Config } from "./schema.ts";
import { secretsIn } from "./secrets.ts";
import type { SettingSource } from "./setting-sources.ts";

/** Remora's own files, which are elsewhere than its working folder if npm has installed it. */
export const packageFolder = resolve(import.meta.dirname, "../..");
const shippedSkills = resolve(packageFolder, "skills");

export interface Settings {
  config: Config;
  configFile: string;
  /** May be missing. */
  envFile: string;
  /** What does not stop the start, but needs attention. */
  warnings: string[];
  workspace: string;
  data: string;
  /** Later folders take precedence: shipped skills, workspace, `.agents/skills`, `skills.folders`, REMORA_SKILLS. */
  skillRoots: string[];
  discord: DiscordAccess | null;
  slack: SlackAccess | null;
  redisUrl: string | null;
  preferredModel: string | null;
  proxies: ProxySettings;
  env: Environment;
  /** Every setting in force, without the values of secrets. */
  sources: SettingSource[];
  /** Values that must never be shown. Each is named after its variable or setting. */
  secrets: NamedSecret[];
}

export interface DiscordAccess {
  token: string;
  /** Without the version. If absent, Discord's own address is used. */
  apiUrl?: string;
}

/** Uses Socket Mode if there is an app token, otherwise signed HTTP. */
export interface SlackAccess {
  botToken: string;
  transport: { type: "socket"; appToken: string } | { type: "http"; signingSecret: string };
  apiUrl?: string;
  /** For Slack's own search. */
  userToken?: string;
}

export function createSettings(
  config: Config,
  configFile: string,
  env: Environment,
  root: string,
): Omit<Settings, "sources" | "envFile" | "warnings"> {
  const workspace = resolve(root, readVariable(env, "REMORA_WORKSPACE") ?? "workspace");
  const extra = (readVariable(env, "REMORA_SKILLS") ?? "").split(delimiter).filter((folder) => folder !== "");
  const secretNames = [
    "DISCORD_TOKEN",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_USER_TOKEN",
  ];
  const redisUrl = readVariable(env, "REDIS_URL") ?? null;
  const { proxies } = readProxies(env);
  return {
    config,
    configFile,
    workspace,
    data: resolve(root, readVariable(env, "REMORA_DATA") ?? "data"),
    skillRoots: [
      shippedSkills,
      resolve(workspace, "skills"),
      resolve(root, ".agents", "skills"),
      resolve(workspace, ".agents", "skills"),
      ...config.skills.folders.map((folder) => resolve(root, folder)),
      ...extra.map((folder) => resolve(root, folder)),
    ],
    discord: discordAccess(env),
    slack: slackAccess(env),
    redisUrl,
    preferredModel: readVariable(env, "REMORA_MODEL") ?? null,
    proxies,
    env,
    secrets: [
      ...named("ANTHROPIC_API_KEY", config.models.anthropic.apiKey),
      ...named("OPENAI_API_KEY", config.models.openai.apiKey),
      ...named("memory.embeddings.apiKey", config.memory.embeddings?.apiKey),
      ...named("transcription.apiKey", config.transcription?.apiKey),
      ...named("web.signIn.slack.clientSecret", config.web.signIn.slack?.clientSecret),
      ...named("web.signIn.discord.clientSecret", config.web.signIn.discord?.clientSecret),
      ...named("web.signIn.oidc.clientSecret", config.web.signIn.oidc?.clientSecret),
      ...named("password of REDIS_URL", urlPassword(redisUrl)),
      ...headerSecrets(config.tracing.headers),
      ...proxyPasswords(proxies),
      ...secretsIn(config.skills.settings, "skills.settings"),
      ...secretsIn({ secrets: config.sandbox.network.secrets }, "sandbox.network"),
      ...secretNames.flatMap((name) => named(name, readVariable(env, name))),
    ],
  };
}

/** Every value, because a collector's header can have any name. */
function headerSecrets(headers: string | null): NamedSecret[] {
  const values = (headers ?? "").split(",").map((pair) => pair.slice(pair.indexOf("=") + 1).trim());
  return values
    .filter((value) => value !== "")
    .flatMap((value) =>
      [...new Set([value, decodeURIComponent(value)])].map((one) => ({ name: "tracing.headers", value: one })),
    );
}

function named(name: string, value: string | null | undefined): NamedSecret[] {
  return value === undefined || value === null ? [] : [{ name, value }];
}

function discordAccess(env: Environment): DiscordAccess | null {
  const token = readVariable(env, "DISCORD_TOKEN");
  const apiUrl = readVariable(env, "DISCORD_API_URL");
  return token === undefined ? null : { token, ...(apiUrl === undefined ? {} : { apiUrl }) };
}

function slackAccess(env: Environment): SlackAccess | null {
  const botToken = readVariable(env, "SLACK_BOT_TOKEN");
  const appToken = readVariable(env, "SLACK_APP_TOKEN");
  const signingSecret = readVariable(env, "SLACK_SIGNING_SECRET");
  const apiUrl = readVariable(env, "SLACK_API_URL");
  if (botToken === undefined) return null;
  const userToken = readVariable(env, "SLACK_USER_TOKEN");
  const where = { ...(apiUrl === undefined ? {} : { apiUrl }), ...(userToken === undefined ? {} : { userToken }) };
  if (appToken !== undefined) return { botToken, transport: { type: "socket", appToken }, ...where };
  return signingSecret === undefined ? null : { botToken, transport: { type: "http", signingSecret }, ...where };
}

function urlPassword(url: string | null): string | undefined {
  const [, password] = /^[a-z+]+:\/\/[^/@:]*:([^@]+)@/i.exec(url ?? "") ?? [];
  return password === undefined ? undefined : decodeURIComponent(password);
}
