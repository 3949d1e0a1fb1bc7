/**
 * Loads the complete configuration, or reports all its problems together:
 *
 *   1. read the YAML file (read-yaml.ts) and secrets from files (`NAME_FILE`)
 *   2. replace `${NAME}` and `${NAME:-default}` in values by environment variables
 *   3. let environment variables override the file (environment.ts)
 *   4. check the result against the schema; a problem names file, line, key and value, and says what to do
 */
import { resolve } from "node:path";
import {
  type ConfigProblem,
  type Environment,
  overridingVariable,
  readVariable,
  tokenProblems,
  withEnvironment,
} from "./environment.ts";
import { exposedFolders } from "./exposed-folders.ts";
import { interpolate, readSource, readYaml } from "./read-yaml.ts";
import { configSchema } from "./schema.ts";
import { issueProblems } from "./schema-problems.ts";
import { readSecretFiles } from "./secret-files.ts";
import { listSettingSources } from "./setting-sources.ts";
import { createSettings, type Settings } from "./settings.ts";

export type LoadResult = { type: "ok"; settings: Settings } | { type: "invalid"; problems: ConfigProblem[] };

/** Relative paths start at `root`, the project's folder. */
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
      const name = overridingVariable(issue.path, env);
      problems.push(...issueProblems(issue, merged, name === undefined ? placeOf : () => name));
    }
  }
  if (problems.length > 0 || !parsed.success) return { type: "invalid", problems };
  const settings: Settings = {
    ...createSettings(parsed.data, file, env, root),
    sources: listSettingSources({
      ...{ config: parsed.data, defaults: configSchema.parse({}), written: value },
      ...{ placeOf, env, variables },
    }),
  };
  const exposed = exposedFolders(settings).map(({ path, message }) => ({
    place: placeOf(path),
    key: path.join("."),
    message,
  }));
  return exposed.length > 0 ? { type: "invalid", problems: exposed } : { type: "ok", settings };
}

export function formatProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ place, key, message }) => `  [${place}] ${key === "" ? "" : `${key}: `}${message}`);
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  return `The configuration has ${count}:\n${lines.join("\n")}`;
}
