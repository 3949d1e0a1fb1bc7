/** Derives each part's options from the settings. A null in the configuration becomes an absent key. */
import { join, sep } from "node:path";
import type { JsonObject } from "../ports/message.ts";
import type { DollarLimits } from "../ports/usage.ts";
import { overridingVariable } from "./environment.ts";
import { withoutLinks } from "./exposed-folders.ts";
import type { Settings } from "./settings.ts";

export function providerSettings({ config, preferredModel, env }: Settings) {
  const { models } = config;
  const addressIn = (address: string | null, ...path: string[]) =>
    address === null ? {} : { urlSetting: overridingVariable(path, env) ?? path.join(".") };
  const { anthropic, openai, ollama } = models;
  return {
    order: models.order,
    anthropic: { ...withoutNulls(anthropic), ...addressIn(anthropic.baseUrl, "models", "anthropic", "baseUrl") },
    openai: { ...withoutNulls(openai), ...addressIn(openai.baseUrl, "models", "openai", "baseUrl") },
    ollama: { ...ollamaSettings(config), ...addressIn(ollama.host, "models", "ollama", "host") },
    /** A key can change while the process runs. */
    keyOf: (name: "anthropic" | "openai") => models[name].apiKey ?? undefined,
    ...(preferredModel === null ? {} : { preferred: preferredModel }),
    timeouts: models.timeouts,
  };
}

export function ollamaSettings({ models, context }: Settings["config"]) {
  const { contextTokens, ...settings } = withoutNulls(models.ollama);
  const wishes = { promptTokens: context.tokens, answerTokens: models.maxOutputTokens };
  return { ...settings, context: contextTokens === undefined ? wishes : { ...wishes, contextTokens } };
}

export function hasBudget({ step: _step, unpriced: _unpriced, ...limits }: DollarLimits): boolean {
  return Object.values(limits).some((limit) => limit !== null);
}

/** False if a provider's requests go to another server, which has other prices. */
export function hasOwnAddress({ config: { models } }: Settings, provider: string): boolean {
  const own: Record<string, { baseUrl: string | null; host: string }> = {
    anthropic: { baseUrl: models.anthropic.baseUrl, host: "api.anthropic.com" },
    openai: { baseUrl: models.openai.baseUrl, host: "api.openai.com" },
  };
  const { baseUrl, host } = own[provider] ?? { baseUrl: null, host: "" };
  return baseUrl === null || URL.parse(baseUrl)?.host === host;
}

/** Services that always say how many tokens came from their cache, also if none did. */
export function countsCache(settings: Settings, model: string): boolean {
  const [provider = ""] = model.split("/", 1);
  return (provider === "anthropic" || provider === "openai") && hasOwnAddress(settings, provider);
}

/** Services that report with each answer what it has cost. */
const reportingHosts = new Set(["openrouter.ai", "api.x.ai", "api.perplexity.ai"]);

export function reportsCost({ config: { models } }: Settings, model: string): boolean {
  const { baseUrl } = models.openai;
  return model.startsWith("openai/") && baseUrl !== null && reportingHosts.has(URL.parse(baseUrl)?.host ?? "");
}

/** Without its own address, the provider's address and key apply. A key is never sent to another address. */
export function embedderSettings({ config: { memory, models } }: Settings) {
  if (memory.embeddings === null) return undefined;
  const { provider, ...settings } = withoutNulls(memory.embeddings);
  if (settings.baseUrl !== undefined) return { provider, ...settings };
  const { baseUrl, apiKey } = provider === "openai" ? models.openai : { baseUrl: models.ollama.host, apiKey: null };
  return { provider, ...withoutNulls({ baseUrl, apiKey }), ...settings };
}

export function transcriptionSettings({ config: { transcription } }: Settings) {
  return transcription === null ? null : withoutNulls(transcription);
}

/** Lists the models of ready providers, and those that the configuration adds. */
export function modelsToChoose({ config }: Settings, providers: readonly { name: string; model: string }[]): string[] {
  const ready = new Set(providers.map((provider) => provider.name));
  const added = config.models.choices.filter((model) => ready.has(model.split("/", 1)[0] ?? ""));
  return [...new Set([...providers.map((provider) => provider.model), ...added])];
}

export function approvalPolicy({ config: { safety } }: Settings) {
  const tools = Object.entries(safety.tools).map(([tool, rule]) => [tool, withoutNulls(rule)] as const);
  return {
    approvers: safety.approvers,
    owners: safety.owners,
    quorum: safety.quorum,
    notRequester: safety.notRequester,
    tools: Object.fromEntries(tools),
    expiryMs: safety.expiryMinutes === null ? null : safety.expiryMinutes * 60_000,
    grantMs: safety.grantMinutes * 60_000,
    maxOpenCards: safety.openCards,
  };
}

export function contextSettings({ config: { context, models } }: Settings) {
  const { tokens: contextTokens, shares, layout } = context;
  return { contextTokens, shares, layout, maxOutputTokens: models.maxOutputTokens };
}

/** What memory brings up stays in the history, so the history has both shares. */
export function historyTokens({ config: { context } }: Settings): number {
  return Math.floor((context.tokens * (context.shares.history + context.shares.memory)) / 100);
}

/** Where a model summarises older turns, they are cut only if that does not work for long. */
const cutsLater = 1.5;

export function historySettings(settings: Settings) {
  const { context, memory } = settings.config;
  const [idle, days] = [context.historyIdleMinutes, memory.retentionDays];
  return {
    maxTokens: historyTokens(settings) * (context.compaction === "model" ? cutsLater : 1),
    idleMs: idle === null ? null : idle * 60_000,
    summaryRetentionMs: days === null ? null : days * 86_400_000,
  };
}

export function backfillLimits({ config: { context } }: Settings) {
  const { messages, kilobytes, channelMessages, channelMinutes } = context.backfill;
  return { messages, bytes: kilobytes * 1_024, channelMessages, channelMs: channelMinutes * 60_000 };
}

/** The doubles of tests stand at the addresses of the APIs. */
export function signInSettings({ config: { web }, slack, discord }: Settings) {
  const { slack: ofSlack, discord: ofDiscord, oidc } = web.signIn;
  const issuer = slack?.apiUrl === undefined ? "https://slack.com" : new URL(slack.apiUrl).origin;
  const apiUrl = discord?.apiUrl ?? "https://discord.com/api";
  return {
    slack: ofSlack === null ? null : { ...ofSlack, issuer },
    discord: ofDiscord === null ? null : { ...ofDiscord, apiUrl },
    oidc,
  };
}

export function redisSettings({ redisUrl, workspace, config: { redis } }: Settings) {
  return redisUrl === null ? null : { url: redisUrl, ...redis, journals: join(workspace, "journals") };
}

/** Omits the local page, because its token grants access. */
export function accessRules({ config: { discord, slack } }: Settings) {
  const { guilds, ...ofDiscord } = discord.access;
  const { workspaces, ...ofSlack } = slack.access;
  return {
    discord: { ...ofDiscord, spaces: guilds, guests: true, externals: true },
    slack: { ...ofSlack, spaces: workspaces },
  };
}

/** Of the prompt's budget in tokens, definitions of all tools may take a quarter: about so many bytes. */
const definedBytesPerToken = 1;

export function toolboxSettings({ config: { skills, tools, context } }: Settings) {
  const accessOf = ({ allow, deny }: { allow: string[] | null; deny: string[] }) => withoutNulls({ allow, deny });
  const conversations = Object.entries(skills.conversations).map(([id, access]) => [id, accessOf(access)] as const);
  const settings: { [skill: string]: JsonObject } = skills.settings;
  const defineAll = tools.define === "all" ? { defineAllBytes: context.tokens * definedBytesPerToken } : {};
  return { ...accessOf(skills), conversations: Object.fromEntries(conversations), settings, ...defineAll };
}

/** Looks for the conversation's folder, then for the channel's. */
export function configuredFolder({ config: { folders } }: Settings, conversationId: string): string | undefined {
  for (let id = conversationId; id !== ""; id = id.slice(0, Math.max(0, id.lastIndexOf(":")))) {
    if (Object.hasOwn(folders, id)) return folders[id];
  }
  return undefined;
}

/** Every folder that tools change: that of all conversations' own folders, and the configured ones, as they are now. */
export function workingFolders({ config: { folders }, workspace }: Settings): string[] {
  return [...new Set([join(workspace, "files"), ...Object.values(folders)].map(withoutLinks))];
}

/** True for skills shipped with Remora, and for those that the operator lets run inside this process. */
export function isTrustedSkill(skill: { name: string; folder: string }, { skillRoots, config }: Settings): boolean {
  const [shipped = ""] = skillRoots;
  return skill.folder.startsWith(join(shipped, sep)) || config.skills.inProcess.includes(skill.name);
}

type Empty = null | undefined;
type WithoutNulls<T> = { [K in keyof T as Extract<T[K], Empty> extends never ? K : never]: T[K] } & {
  [K in keyof T as Extract<T[K], Empty> extends never ? never : K]?: Exclude<T[K], Empty>;
};

function withoutNulls<T extends object>(values: T): WithoutNulls<T> {
  const set = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(set) as WithoutNulls<T>;
}
