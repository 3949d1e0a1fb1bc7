import { resolve } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as unset. */
export function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

export interface ConfigProblem {
  /** Such as `config/remora.yaml:12`, or the name of an environment variable. */
  place: string;
  key: string;
  message: string;
}

export const environmentKeys: readonly (readonly [name: string, path: readonly string[]])[] = [
  ["ANTHROPIC_API_KEY", ["models", "anthropic", "apiKey"]],
  ["ANTHROPIC_BASE_URL", ["models", "anthropic", "baseUrl"]],
  ["OPENAI_API_KEY", ["models", "openai", "apiKey"]],
  ["OPENAI_BASE_URL", ["models", "openai", "baseUrl"]],
  ["OLLAMA_HOST", ["models", "ollama", "host"]],
  ["LOG_LEVEL", ["log", "level"]],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", ["tracing", "endpoint"]],
  ["OTEL_EXPORTER_OTLP_HEADERS", ["tracing", "headers"]],
  ["OTEL_SERVICE_NAME", ["tracing", "serviceName"]],
];

export function withEnvironment(raw: unknown, env: Environment, problems: ConfigProblem[]): unknown {
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
      problems.push({
        place: "REMORA_PORT",
        key: "",
        message: `"${port}" is not a port number. Use a number from 0 to 65535.`,
      });
  }
  return merged;
}

export function overridingVariable(path: readonly PropertyKey[], env: Environment): string | undefined {
  if (path.join("\n") === "web\nport" && readVariable(env, "REMORA_PORT") !== undefined) return "REMORA_PORT";
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
  // The file's value has the wrong type, which the schema reports.
  if (child !== undefined && child !== null && typeof child !== "object") return;
  const next = { ...(child as Record<string, unknown> | null | undefined) };
  target[key] = next;
  setIn(next, rest, value);
}

/** In these file systems of the kernel, creating a folder never returns. */
export function folderProblems(env: Environment): ConfigProblem[] {
  return ["REMORA_DATA", "REMORA_WORKSPACE"].flatMap((name) => {
    const folder = readVariable(env, name);
    if (folder === undefined || !/^\/(?:proc|sys)(?:\/|$)/.test(resolve(folder))) return [];
    return [
      { place: name, key: "", message: `${folder} is in a file system of the kernel. Set it to another folder.` },
    ];
  });
}

/** Reports an incomplete set of tokens, which would otherwise silently turn the platform off. */
export function tokenProblems(env: Environment): ConfigProblem[] {
  const has = (name: string) => readVariable(env, name) !== undefined;
  const hasTransport = has("SLACK_APP_TOKEN") || has("SLACK_SIGNING_SECRET");
  const problem = (place: string, message: string) => [{ place, key: "", message }];
  if (has("SLACK_BOT_TOKEN") && !hasTransport) {
    return problem(
      "SLACK_BOT_TOKEN",
      "is set, but Slack can't reach Remora yet. Set SLACK_APP_TOKEN (Socket Mode, xapp-…) or SLACK_SIGNING_SECRET (HTTP).",
    );
  }
  if (!has("SLACK_BOT_TOKEN") && hasTransport) {
    const name = has("SLACK_APP_TOKEN") ? "SLACK_APP_TOKEN" : "SLACK_SIGNING_SECRET";
    return problem(name, "is set without SLACK_BOT_TOKEN (xoxb-…, from the app's OAuth page). Set both, or neither.");
  }
  return [];
}
