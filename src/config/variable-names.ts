/** The names of all variables that Remora reads, and what to say about a name that is nearly one of them. */
import { closestName } from "../lib/closest-name.ts";
import type { ConfigProblem, Environment } from "./environment.ts";

/** Each contains a secret, or an address with a secret in it. */
export const secretVariables = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "DISCORD_TOKEN",
  "SLACK_BOT_TOKEN",
  "SLACK_APP_TOKEN",
  "SLACK_SIGNING_SECRET",
  "SLACK_USER_TOKEN",
  "REDIS_URL",
  "OTEL_EXPORTER_OTLP_HEADERS",
] as const;

/** Settings that only the environment has, as `remora config` and the dashboard list them. */
export const onlyVariables = [
  "REMORA_CONFIG",
  "REMORA_ENV_FILE",
  "REMORA_WORKSPACE",
  "REMORA_DATA",
  "REMORA_SKILLS",
  "REMORA_MODEL",
  "REDIS_URL",
  "DISCORD_TOKEN",
  "DISCORD_API_URL",
  "SLACK_BOT_TOKEN",
  "SLACK_APP_TOKEN",
  "SLACK_SIGNING_SECRET",
  "SLACK_USER_TOKEN",
  "SLACK_API_URL",
] as const;

const overrides = ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OLLAMA_HOST", "LOG_LEVEL", "REMORA_PORT"];
const internal = ["REMORA_ENVIRONMENT", "REMORA_PORT_WRAPPERS"];
const known: readonly string[] = [...new Set([...secretVariables, ...onlyVariables, ...overrides, ...internal])];
const ownPrefix = "REMORA_";
const ofServices = /^(?:ANTHROPIC|OPENAI|OLLAMA|DISCORD|SLACK|REDIS)_/;
/** Kubernetes and Docker set these for a service that is called `remora`. */
const fromOrchestrator = /^REMORA_(?:SERVICE_|PORT_\d)/;

/**
 * Our own misspelled names are problems, like unknown keys of the file. Names of services may belong to another program,
 * and an unknown name that resembles none of ours may too, so they are only mentioned.
 */
export function checkVariableNames(
  env: Environment,
  used: ReadonlySet<string>,
  placeOf: (name: string) => string,
): { problems: ConfigProblem[]; warnings: string[] } {
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  // Fault injection has variables of its own.
  const isTest = (env.REMORA_PORT_WRAPPERS ?? "") !== "";
  for (const [name, value] of Object.entries(env)) {
    const plain = name.endsWith("_FILE") && name !== "REMORA_ENV_FILE" ? name.slice(0, -"_FILE".length) : name;
    if (!value || known.includes(name) || isUsed(name, plain, used)) continue;
    const isOwn = name.startsWith(ownPrefix) && !fromOrchestrator.test(name);
    if (!isOwn && !ofServices.test(name)) continue;
    const meant = closestName(plain, known);
    const suffix = plain === name ? "" : "_FILE";
    if (isOwn && meant !== undefined) {
      const message = `is not a setting of Remora. Did you mean ${meant}${suffix}?`;
      problems.push({ place: placeOf(name), key: "", message });
    } else if (meant !== undefined) warnings.push(`${placeOf(name)} is not read. Did you mean ${meant}${suffix}?`);
    else if (isOwn && !isTest) warnings.push(`${placeOf(name)} is not a setting of Remora and is not read.`);
  }
  return { problems, warnings };
}

function isUsed(name: string, plain: string, used: ReadonlySet<string>): boolean {
  return used.has(name) || used.has(plain) || (plain !== name && secretVariables.some((secret) => secret === plain));
}
