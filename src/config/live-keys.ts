/**
 * The settings that apply without a restart. `applyLive` changes them in place in `settings.config`, so every part must
 * read them at each use, from the group that holds them, or listen for the change (app/live-settings.ts).
 */
import { createMasker, type NamedSecret } from "../lib/redact.ts";
import { hasBudget } from "./derive.ts";
import type { Config } from "./schema.ts";
import { leavesOf, type SettingSource, valueAt, valueText } from "./setting-sources.ts";
import type { Settings } from "./settings.ts";
import { onlyVariables } from "./variable-names.ts";

export interface SettingChange {
  /** Such as `safety.quorum`, or the name of a variable. */
  key: string;
  /** As people read them: the values of secrets are never shown. */
  from: string;
  to: string;
  isLive: boolean;
  isSafety: boolean;
}

const budgets = ["turn", "user", "channel", "scheduleRun", "schedule"].map((name) => `limits.dollars.${name}`);
const access = ["users", "roles", "channels", "dms", "bots", "botTurns"];
/** Of providers that are set up. Another provider needs a restart. */
const modelKeys = ["anthropic", "openai"].map((provider) => `models.${provider}.apiKey`);
const liveKeys: readonly string[] = [
  "log.level",
  ...modelKeys,
  ...["approvers", "owners", "quorum", "notRequester", "tools", "shell", "changes.own", "changes.given"]
    .concat("expiryMinutes", "grantMinutes", "openCards", "notify", "notifyAtMost")
    .map((name) => `safety.${name}`),
  ...["answers.footer", "answers.cost"],
  ...["steps", "callsPerStep", "refusals", "messageCharacters"].map((name) => `turns.${name}`),
  ...["limits.userRequestsPerMinute", "limits.channelRequestsPerMinute"],
  ...["limits.userTokensPerDay", "limits.channelTokensPerDay", ...budgets],
  ...["skills.allow", "skills.deny", "skills.conversations", "web.accounts"],
  ...[...access, "guilds"].map((name) => `discord.access.${name}`),
  ...[...access, "workspaces", "guests", "externals"].map((name) => `slack.access.${name}`),
];
/** Who may do what, at which risk, and for how much money. */
const safetyKey =
  /^(?:safety|sandbox|limits|folders|skills|discord\.access|slack\.access|web\.accounts|web\.signIn)(?:\.|$)/;

export function changesBetween(current: Settings, next: Settings): SettingChange[] {
  const mask = createMasker([...current.secrets, ...next.secrets]);
  const keys = [...new Set([...keysOf(current.config), ...keysOf(next.config)])];
  // Which models may answer is decided once, by whether there is a budget.
  const areBudgetsLive = hasBudget(current.config.limits.dollars) === hasBudget(next.config.limits.dollars);
  const ofFile = keys.flatMap((key): SettingChange[] => {
    const path = key.split("\n");
    const [from, to] = [valueAt(current.config, path), valueAt(next.config, path)];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    const name = path.join(".");
    const isLive =
      liveKeys.includes(name) &&
      (areBudgetsLive || !budgets.includes(name)) &&
      (!modelKeys.includes(name) || isModelKeyLive(current, name, from, to));
    return [
      {
        key: name,
        from: valueText(path, from, mask),
        to: valueText(path, to, mask),
        isLive,
        isSafety: safetyKey.test(name),
      },
    ];
  });
  const ofVariables = onlyVariables.flatMap((key): SettingChange[] => {
    const of = ({ sources }: Settings) => sources.find((source) => source.key === key)?.value ?? "";
    if ((current.env[key] ?? "") === (next.env[key] ?? "")) return [];
    return [{ key, from: of(current), to: of(next), isLive: false, isSafety: false }];
  });
  return [...ofFile, ...ofVariables];
}

/** Embeddings that use the key of the models read it once. */
function isModelKeyLive({ config: { memory } }: Settings, name: string, from: unknown, to: unknown): boolean {
  const { embeddings } = memory;
  const isBorrowed =
    embeddings !== null && name === `models.${embeddings.provider}.apiKey` && embeddings.apiKey === null;
  return from !== null && to !== null && !isBorrowed;
}

/** Must not be interrupted by other work: the new values are in force together. */
export function applyLive(current: Settings, next: Settings, changes: readonly SettingChange[]): void {
  for (const { key } of changes.filter(({ isLive }) => isLive)) {
    const path = key.split(".");
    setAt(current.config, path, valueAt(next.config, path));
  }
  // Old secrets stay, because texts from before the change still hold them.
  current.secrets = [...current.secrets, ...next.secrets.filter((secret) => !isKnown(current, secret))];
  const waiting = new Set(changes.filter(({ isLive }) => !isLive).map(({ key }) => key));
  current.sources = sourcesInForce(current.sources, next.sources, waiting);
}

function isKnown({ secrets }: Settings, { name, value }: NamedSecret): boolean {
  return secrets.some((known) => known.name === name && known.value === value);
}

/** Until the restart, a changed setting is listed with the value and the place that are in force. */
function sourcesInForce(
  current: readonly SettingSource[],
  next: readonly SettingSource[],
  waiting: ReadonlySet<string>,
): SettingSource[] {
  const old = new Map(current.map((source) => [source.key, source]));
  return next.flatMap((source) => (waiting.has(source.key) ? (old.get(source.key) ?? []) : source));
}

/** A live setting counts as one, even if it holds other values, such as `safety.tools`. */
function keysOf(config: Config): string[] {
  const own = leavesOf(config, []).map(({ path }) => path);
  return own.map((path) => {
    const live = liveKeys.find((key) => path.join(".").startsWith(`${key}.`));
    return (live === undefined ? path : live.split(".")).join("\n");
  });
}

function setAt(target: object, path: readonly string[], value: unknown): void {
  const [key = "", ...rest] = path;
  const group = target as Record<string, object>;
  if (rest.length === 0) Object.assign(target, { [key]: value });
  else if (group[key] !== undefined) setAt(group[key], rest, value);
}
