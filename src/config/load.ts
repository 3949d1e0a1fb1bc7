/**
 * Loads the configuration whole, or reports every problem at once.
 *
 *   1. read the YAML file (a missing default file is an empty one), and secrets that lie in files (`NAME_FILE`)
 *   2. replace `${NAME}` and `${NAME:-default}` in values by the environment
 *   3. let environment settings win over the file
 *   4. check against the schema; a problem names file and line, key, value, and what to do
 */
import { readFileSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { isMap, isNode, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { codeOf, messageOf } from "../lib/errors.ts";
import type { NamedSecret } from "../lib/redact.ts";
import { exposedFolders } from "./exposed-folders.ts";
import { type Config, configSchema } from "./schema.ts";
import { readSecretFiles } from "./secret-files.ts";
import { secretsIn } from "./secrets.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration with everything that comes from outside the file. Paths are absolute. */
export interface Settings {
  config: Config;
  configFile: string;
  workspace: string;
  data: string;
  /**
   * In precedence order, later wins: shipped, the workspace's own, `.agents/skills` of the project and of the workspace (they
   * need not be there), `skills.folders`, REMORA_SKILLS.
   */
  skillRoots: string[];
  /** Null where the environment has no token for it. */
  discord: DiscordAccess | null;
  slack: SlackAccess | null;
  redisUrl: string | null;
  /** `provider/model` that goes first. */
  preferredModel: string | null;
  /** For variables that the plugins of skills declare. */
  env: Environment;
  /** Values that must never be shown, each named after the variable or setting that holds it. */
  secrets: NamedSecret[];
}

export interface DiscordAccess {
  token: string;
  /** Without the version; absent: Discord's own. */
  apiUrl?: string;
}

/** With an app token by Socket Mode, else by signed HTTP. */
export interface SlackAccess {
  botToken: string;
  transport: { type: "socket"; appToken: string } | { type: "http"; signingSecret: string };
  /** Absent: Slack's own. */
  apiUrl?: string;
}

export interface ConfigProblem {
  /** `config/remora.yaml:12`, or the name of an environment variable. */
  place: string;
  key: string;
  message: string;
}

export type LoadResult = { type: "ok"; settings: Settings } | { type: "invalid"; problems: ConfigProblem[] };

/** `root` is the project's folder, which relative paths start from. */
export function loadSettings(variables: Environment, root: string): LoadResult {
  const file = resolve(root, readVariable(variables, "REMORA_CONFIG") ?? "config/remora.yaml");
  const source = readSource(file, readVariable(variables, "REMORA_CONFIG") !== undefined);
  if (typeof source !== "string") return { type: "invalid", problems: [source] };
  const yaml = readYaml(source, file);
  if ("problems" in yaml) return { type: "invalid", problems: yaml.problems };
  const { value, placeOf } = yaml;
  const { env, problems } = readSecretFiles(variables, source);
  const raw = interpolate(value ?? {}, env, [], (path, name) => {
    problems.push({
      place: placeOf(path),
      key: path.join("."),
      message: `\${${name}} is not set in the environment. Set ${name}, or write \${${name}:-default}.`,
    });
  });
  const merged = withEnvironment(raw, env, problems);
  problems.push(...tokenProblems(env));
  const parsed = configSchema.safeParse(merged);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const name = environmentKeyOf(issue.path, env);
      problems.push(...problemsOf(issue, merged, name === undefined ? placeOf : () => name));
    }
  }
  if (problems.length > 0 || !parsed.success) return { type: "invalid", problems };
  const settings = settingsOf(parsed.data, file, env, root);
  const exposed = exposedFolders(settings).map(({ path, message }) => ({
    place: placeOf(path),
    key: path.join("."),
    message,
  }));
  return exposed.length > 0 ? { type: "invalid", problems: exposed } : { type: "ok", settings };
}

/** One line a problem, for people. */
export function formatProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ place, key, message }) => `  [${place}] ${key === "" ? "" : `${key}: `}${message}`);
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  return `The configuration has ${count}:\n${lines.join("\n")}`;
}

function readSource(file: string, isNamed: boolean): string | ConfigProblem {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" && !isNamed) return "";
    return {
      place: file,
      key: "",
      message: `can't be read: ${messageOf(thrown)}. Check REMORA_CONFIG and the file's permissions.`,
    };
  }
}

type ReadYaml = { value: unknown; placeOf(path: readonly PropertyKey[]): string } | { problems: ConfigProblem[] };

function readYaml(source: string, file: string): ReadYaml {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, uniqueKeys: true });
  const problemAt = (line: number, message: string): ConfigProblem => ({
    place: `${file}:${line}`,
    key: "",
    message: `not valid YAML: ${message.split("\n")[0]}. Correct the line; indentation is two spaces.`,
  });
  if (document.errors.length > 0) {
    return { problems: document.errors.map((error) => problemAt(error.linePos?.[0].line ?? 1, error.message)) };
  }
  try {
    return { value: document.toJS(), placeOf: (path) => `${file}${lineSuffix(document, lines, path)}` };
  } catch (thrown) {
    // An alias without its anchor, or too many of them, shows only now.
    return { problems: [problemAt(1, messageOf(thrown))] };
  }
}

function lineSuffix(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: readonly PropertyKey[],
): string {
  for (let length = path.length; length > 0; length--) {
    const [last] = path.slice(length - 1, length);
    const parent = document.getIn(path.slice(0, length - 1), true);
    const pair = isMap(parent) ? parent.items.find((item) => String(item.key) === String(last)) : undefined;
    const node = pair?.key ?? document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return `:${lines.linePos(node.range[0]).line}`;
  }
  return "";
}

type Report = (path: PropertyKey[], name: string) => void;

function interpolate(value: unknown, env: Environment, path: PropertyKey[], onMissing: Report): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_whole, name: string, fallback?: string) => {
      const found = readVariable(env, name) ?? fallback;
      if (found === undefined) onMissing(path, name);
      return found ?? "";
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => interpolate(item, env, [...path, index], onMissing));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, interpolate(item, env, [...path, key], onMissing)]),
  );
}

/** Environment variable → key of the file that it wins over. */
const environmentKeys: readonly (readonly [name: string, path: readonly string[]])[] = [
  ["ANTHROPIC_API_KEY", ["models", "anthropic", "apiKey"]],
  ["ANTHROPIC_BASE_URL", ["models", "anthropic", "baseUrl"]],
  ["OPENAI_API_KEY", ["models", "openai", "apiKey"]],
  ["OPENAI_BASE_URL", ["models", "openai", "baseUrl"]],
  ["OLLAMA_HOST", ["models", "ollama", "host"]],
  ["LOG_LEVEL", ["log", "level"]],
];

function withEnvironment(raw: unknown, env: Environment, problems: ConfigProblem[]): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  const merged = structuredClone(raw) as Record<string, unknown>;
  for (const [name, path] of environmentKeys) {
    const value = readVariable(env, name);
    if (value !== undefined) setIn(merged, path, value);
  }
  const port = readVariable(env, "REMORA_PORT");
  if (port !== undefined) {
    if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) setIn(merged, ["web", "port"], Number(port));
    else
      problems.push({ place: "REMORA_PORT", key: "", message: `"${port}" is no port. Use a number from 0 to 65535.` });
  }
  return merged;
}

/** The environment variable that a value came from, when it did not come from the file. */
function environmentKeyOf(path: readonly PropertyKey[], env: Environment): string | undefined {
  const [name] = environmentKeys.find(([, keys]) => keys.join("\n") === path.join("\n")) ?? [];
  return name === undefined || readVariable(env, name) === undefined ? undefined : name;
}

function setIn(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key = "", ...rest] = path;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const child = target[key];
  // A wrong type in the file is left for the schema to report.
  if (child !== undefined && child !== null && typeof child !== "object") return;
  const next = { ...(child as Record<string, unknown> | null | undefined) };
  target[key] = next;
  setIn(next, rest, value);
}

function problemsOf(
  issue: z.core.$ZodIssue,
  raw: unknown,
  placeOf: (path: readonly PropertyKey[]) => string,
): ConfigProblem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      return { place: placeOf(path), key: path.join("."), message: `unknown key. ${nearestKeys(issue.path, key)}` };
    });
  }
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], raw);
  const shown = value === undefined ? "no value" : JSON.stringify(value).slice(0, 80);
  return [
    { place: placeOf(issue.path), key: issue.path.join("."), message: `${shown} can't be used: ${issue.message}.` },
  ];
}

function nearestKeys(path: readonly PropertyKey[], unknownKey: string): string {
  const known = knownKeys(path);
  const near = known.find((key) => key.toLowerCase().startsWith(unknownKey.toLowerCase().slice(0, 3)));
  const hint = near === undefined ? "" : `Did you mean "${near}"? `;
  return `${hint}Known keys here: ${known.join(", ")}.`;
}

function knownKeys(path: readonly PropertyKey[]): string[] {
  const defaults: unknown = configSchema.parse({});
  const at = path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], defaults);
  return typeof at === "object" && at !== null ? Object.keys(at) : [];
}

function settingsOf(config: Config, configFile: string, env: Environment, root: string): Settings {
  const workspace = resolve(root, readVariable(env, "REMORA_WORKSPACE") ?? "workspace");
  const extra = (readVariable(env, "REMORA_SKILLS") ?? "").split(delimiter).filter((folder) => folder !== "");
  const secretNames = ["DISCORD_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"];
  const redisUrl = readVariable(env, "REDIS_URL") ?? null;
  return {
    config,
    configFile,
    workspace,
    data: resolve(root, readVariable(env, "REMORA_DATA") ?? "data"),
    skillRoots: [
      resolve(root, "skills"),
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
    env,
    secrets: [
      ...named("ANTHROPIC_API_KEY", config.models.anthropic.apiKey),
      ...named("OPENAI_API_KEY", config.models.openai.apiKey),
      ...named("password of REDIS_URL", passwordOf(redisUrl)),
      ...secretsIn(config.skills.settings, "skills.settings"),
      ...secretsIn({ secrets: config.sandbox.network.secrets }, "sandbox.network"),
      ...secretNames.flatMap((name) => named(name, readVariable(env, name))),
    ],
  };
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
  const where = apiUrl === undefined ? {} : { apiUrl };
  if (appToken !== undefined) return { botToken, transport: { type: "socket", appToken }, ...where };
  return signingSecret === undefined ? null : { botToken, transport: { type: "http", signingSecret }, ...where };
}

/** Half of what a platform needs is a mistake that would otherwise look like silence. */
function tokenProblems(env: Environment): ConfigProblem[] {
  const has = (name: string) => readVariable(env, name) !== undefined;
  const hasTransport = has("SLACK_APP_TOKEN") || has("SLACK_SIGNING_SECRET");
  const problem = (place: string, message: string) => [{ place, key: "", message }];
  if (has("SLACK_BOT_TOKEN") && !hasTransport) {
    return problem(
      "SLACK_BOT_TOKEN",
      "is set, but how Slack reaches Remora is not. Set SLACK_APP_TOKEN (Socket Mode, xapp-…), or SLACK_SIGNING_SECRET (HTTP).",
    );
  }
  if (!has("SLACK_BOT_TOKEN") && hasTransport) {
    const name = has("SLACK_APP_TOKEN") ? "SLACK_APP_TOKEN" : "SLACK_SIGNING_SECRET";
    return problem(name, "is set without SLACK_BOT_TOKEN (xoxb-…, from the app's OAuth page). Set both, or neither.");
  }
  return [];
}

function passwordOf(url: string | null): string | undefined {
  const [, password] = /^[a-z+]+:\/\/[^/@:]*:([^@]+)@/i.exec(url ?? "") ?? [];
  return password === undefined ? undefined : decodeURIComponent(password);
}

/** An empty variable counts as not set. */
function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}
