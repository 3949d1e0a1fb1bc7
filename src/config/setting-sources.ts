/**
 * Lists every setting in force with where it comes from: the default, a line of the file, or an environment variable.
 * The values of secrets are never shown.
 */
import { isSecretName, type Mask } from "../lib/redact.ts";
import { type Environment, overridingVariable, readVariable } from "./environment.ts";
import { onlyVariables } from "./variable-names.ts";

export interface SettingSource {
  /** Such as `models.anthropic.model`, or the name of a variable that has no place in the file. */
  key: string;
  value: string;
  source: "default" | "file" | "environment";
  /** `config/remora.yaml:12`, `.env:3 NAME`, or the name of the variable. Empty for defaults. */
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
  placeOfVariable(name: string): string;
  /** Hides configured secrets wherever they are, such as inside a list. */
  mask: Mask;
}

const maxValueCharacters = 400;
export function listSettingSources(input: SourcesInput): SettingSource[] {
  const inFile = leavesOf(input.config, []).map(({ path, value }) => sourceOf(path, value, input));
  const ofEnvironment = onlyVariables.map((name): SettingSource => {
    const value = readVariable(input.env, name);
    if (value === undefined) return { key: name, value: "not set", source: "default", place: "", isDefault: true };
    const set = readVariable(input.variables, name) === undefined ? `${name}_FILE` : name;
    return {
      key: name,
      value: isSecretName(name) ? "set" : shown(input.mask(value)),
      source: "environment",
      place: input.placeOfVariable(set),
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
export function leavesOf(value: unknown, path: string[]): Leaf[] {
  const isBranch = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isBranch || Object.keys(value).length === 0) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}

function sourceOf(path: string[], value: unknown, input: SourcesInput): SettingSource {
  const { defaults, written, placeOf, env, variables, placeOfVariable } = input;
  const isDefault = JSON.stringify(valueAt(defaults, path)) === JSON.stringify(value);
  const shownValue = { key: path.join("."), value: valueText(path, value, input.mask), isDefault };
  const variable = overridingVariable(path, env);
  if (variable !== undefined) {
    const set = readVariable(variables, variable) === undefined ? `${variable}_FILE` : variable;
    return { ...shownValue, source: "environment", place: placeOfVariable(set) };
  }
  const raw = valueAt(written, path);
  if (raw === undefined) return { ...shownValue, source: "default", place: "" };
  const used = [...JSON.stringify(raw).matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name]) => name);
  const from = used.length === 0 ? "" : ` with ${used.join(", ")}`;
  return { ...shownValue, source: "file", place: `${placeOf(path)}${from}` };
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function valueText(path: readonly string[], value: unknown, mask: Mask): string {
  if (value === null || value === undefined) return "not set";
  const holdsText = typeof value === "string" || (isObject(value) && Object.keys(value).length > 0);
  if (holdsText && path.some(isSecretName)) return "set";
  return shown(mask(typeof value === "string" ? value : JSON.stringify(value)));
}

/** Hides a password in an address. */
function shown(text: string): string {
  const safe = text.replace(/(\/\/)[^/@\n"]*@/g, "$1…@");
  return safe.length <= maxValueCharacters ? safe : `${safe.slice(0, maxValueCharacters - 1)}…`;
}
