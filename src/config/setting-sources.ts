/**
 * Lists every setting in force with where it comes from: the default, a line of the file, or an environment variable.
 * Secrets are only said to be set.
 */
import { type Environment, overridingVariable, readVariable } from "./environment.ts";
import { isSecretName } from "./secrets.ts";

export interface SettingSource {
  /** Such as `models.anthropic.model`, or the name of a variable that has no place in the file. */
  key: string;
  value: string;
  source: "default" | "file" | "environment";
  /** `config/remora.yaml:12`, or the name of the variable. Empty for defaults. */
  place: string;
  /** The value is what it would be without file and environment. */
  isDefault: boolean;
}

interface SourcesInput {
  /** The checked configuration. */
  config: unknown;
  /** The configuration of an empty file. */
  defaults: unknown;
  /** The file's content as written. */
  written: unknown;
  placeOf(path: readonly PropertyKey[]): string;
  env: Environment;
  /** The environment before secrets were read from files. */
  variables: Environment;
}

const maxValueCharacters = 400;
/** Settings that only the environment has. */
const onlyVariables = [
  "REMORA_CONFIG",
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
];

export function listSettingSources(input: SourcesInput): SettingSource[] {
  const inFile = leavesOf(input.config, []).map(({ path, value }) => sourceOf(path, value, input));
  const ofEnvironment = onlyVariables.map((name): SettingSource => {
    const value = readVariable(input.env, name);
    if (value === undefined) return { key: name, value: "not set", source: "default", place: "", isDefault: true };
    const place = readVariable(input.variables, name) === undefined ? `${name}_FILE` : name;
    return {
      key: name,
      value: isSecretName(name) ? "set" : shown(value),
      source: "environment",
      place,
      isDefault: false,
    };
  });
  return [...inFile, ...ofEnvironment];
}

interface Leaf {
  path: string[];
  value: unknown;
}

/** Lists and empty objects are leaves too. */
function leavesOf(value: unknown, path: string[]): Leaf[] {
  const isBranch = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isBranch || Object.keys(value).length === 0) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}

function sourceOf(path: string[], value: unknown, { defaults, written, placeOf, env }: SourcesInput): SettingSource {
  const isDefault = JSON.stringify(valueAt(defaults, path)) === JSON.stringify(value);
  const shownValue = { key: path.join("."), value: valueText(path, value), isDefault };
  const variable = overridingVariable(path, env);
  if (variable !== undefined) return { ...shownValue, source: "environment", place: variable };
  const raw = valueAt(written, path);
  if (raw === undefined) return { ...shownValue, source: "default", place: "" };
  const used = [...JSON.stringify(raw).matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name]) => name);
  const from = used.length === 0 ? "" : ` with ${used.join(", ")}`;
  return { ...shownValue, source: "file", place: `${placeOf(path)}${from}` };
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function valueText(path: string[], value: unknown): string {
  if (value === null || value === undefined) return "not set";
  const holdsText = typeof value === "string" || (isObject(value) && Object.keys(value).length > 0);
  if (holdsText && path.some(isSecretName)) return "set";
  return shown(typeof value === "string" ? value : JSON.stringify(value));
}

/** Hides a password in an address. */
function shown(text: string): string {
  const safe = text.replace(/(\/\/)[^/@\s]*@/g, "$1…@");
  return safe.length <= maxValueCharacters ? safe : `${safe.slice(0, maxValueCharacters - 1)}…`;
}
