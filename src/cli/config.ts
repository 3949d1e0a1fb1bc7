/** `remora config` prints the settings in force and where each comes from; `config check` checks a file. */
import { resolve } from "node:path";
import type { Environment } from "../config/environment.ts";
import { formatProblem, loadSettings } from "../config/load.ts";
import type { SettingSource } from "../config/setting-sources.ts";
import { closestName } from "../lib/closest-name.ts";
import { RemoraError } from "../lib/errors.ts";
import { shortPath } from "../lib/short-path.ts";
import { settingsFor } from "./settings.ts";

interface ShowOptions {
  json?: boolean;
  changed?: boolean;
}

export function configCommand(env: Environment, root: string, { json, changed }: ShowOptions): void {
  const { sources, warnings, configFile } = settingsFor(env, root);
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  const shown = sources.filter(({ isDefault }) => changed !== true || !isDefault);
  if (json) printJson(shown);
  else if (shown.length === 0) print([`Every setting has its default. To change one, edit ${shortPath(configFile)}.`]);
  else print(settingLines(shown));
}

export function configGetCommand(env: Environment, root: string, key: string, { json }: ShowOptions): void {
  const { sources } = settingsFor(env, root);
  const found = sources.filter((source) => source.key === key || source.key.startsWith(`${key}.`));
  if (found.length === 0) throw unknownKey(key, sources);
  const [only] = found;
  if (json) printJson(found);
  else if (found.length === 1 && only?.key === key) print([only.value]);
  else print(settingLines(found));
}

/** Prints one line per problem. Without a file, checks the settings that the next start would use. */
export function configCheckCommand(env: Environment, root: string, file: string | undefined): void {
  const result = loadSettings(file === undefined ? env : { ...env, REMORA_CONFIG: resolve(file) }, root);
  if (result.type === "invalid") {
    process.exitCode = 1;
    print(result.problems.map((problem) => formatProblem({ ...problem, place: shortPath(problem.place) })));
    return;
  }
  const { configFile, warnings } = result.settings;
  print([...warnings.map((warning) => `Note: ${warning}`), `${shortPath(configFile)} has no problems.`]);
}

function settingLines(sources: readonly SettingSource[]): string[] {
  const width = Math.max(...sources.map(({ key }) => key.length));
  return sources.map(({ key, value, source, place }) => {
    const from = source === "default" ? "default" : shortPath(place);
    return `${key.padEnd(width)}  ${value}  (${from})`;
  });
}

function unknownKey(key: string, sources: readonly SettingSource[]): RemoraError {
  const keys = sources.map((source) => source.key);
  const meant = closestName(key, keys) ?? keys.find((one) => one.endsWith(`.${key}`));
  const hint = meant === undefined ? "For a list: remora config" : `Did you mean ${meant}?`;
  return new RemoraError({ code: "config.key", place: key, message: `is not a setting. ${hint}` });
}

function printJson(value: unknown): void {
  print([JSON.stringify(value, null, 1)]);
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}
