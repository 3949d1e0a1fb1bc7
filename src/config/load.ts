/**
 * Loads the complete configuration, or reports all its problems together:
 *
 *   1. read `.env` (env-file.ts), the YAML file (read-yaml.ts) and secrets from files (`NAME_FILE`)
 *   2. replace `${NAME}` and `${NAME:-default}` in values by environment variables
 *   3. let environment variables override the file (environment.ts)
 *   4. check the result against the schema; a problem names file, line, key and value, and says what to do
 */
import { resolve } from "node:path";
import { createMasker } from "../lib/redact.ts";
import { readEnvFile } from "./env-file.ts";
import {
  type ConfigProblem,
  type Environment,
  folderProblems,
  overridingVariable,
  readVariable,
  tokenProblems,
  withEnvironment,
} from "./environment.ts";
import { exposedFolders } from "./exposed-folders.ts";
import { readProxies } from "./proxies.ts";
import { interpolate, readSource, readYaml } from "./read-yaml.ts";
import { configSchema } from "./schema.ts";
import { issueProblems, modelProblems, wordsFor } from "./schema-problems.ts";
import { readSecretFiles, secretProblems, withoutBlanks } from "./secret-files.ts";
import { listSettingSources } from "./setting-sources.ts";
import { createSettings, type Settings } from "./settings.ts";
import { checkVariableNames } from "./variable-names.ts";

export type LoadResult = { type: "ok"; settings: Settings } | { type: "invalid"; problems: ConfigProblem[] };

/** Relative paths start at `root`, the folder that Remora works in. `variables` is the real environment. */
export function loadSettings(variables: Environment, root: string): LoadResult {
  const envFile = readEnvFile(variables, root);
  if (envFile.problems.length > 0) return { type: "invalid", problems: envFile.problems };
  const named = readVariable(envFile.env, "REMORA_CONFIG");
  const file = resolve(root, named ?? "config/remora.yaml");
  const source = readSource(file, named !== undefined);
  if (typeof source !== "string") return { type: "invalid", problems: [source] };
  const yaml = readYaml(source, file);
  if ("problems" in yaml) return { type: "invalid", problems: yaml.problems };
  const { value, placeOf } = yaml;
  const used = new Set(Array.from(source.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g), ([, name = ""]) => name));
  const { env: written, problems } = readSecretFiles(envFile.env, used, root);
  const env = withoutBlanks(written);
  const isFromFile = (name: string) => !envFile.env[name] && Boolean(envFile.env[`${name}_FILE`]);
  const placeOfVariable = (name: string) => envFile.placeOf(isFromFile(name) ? `${name}_FILE` : name);
  const names = checkVariableNames(envFile.env, used, envFile.placeOf);
  problems.push(...names.problems);
  const raw = interpolate(value ?? {}, env, [], (path, name) => {
    problems.push({
      place: placeOf(path),
      key: path.join("."),
      message: `\${${name}} is not set in the environment. Set ${name}, or write \${${name}:-default}.`,
    });
  });
  const merged = withEnvironment(raw, env, problems);
  problems.push(
    ...secretProblems(env, placeOfVariable),
    ...tokenProblems(env),
    ...folderProblems(env),
    ...modelProblems(env, placeOfVariable),
    ...readProxies(env).problems,
  );
  const parsed = configSchema.safeParse(merged, { error: wordsFor });
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const name = overridingVariable(issue.path, env);
      problems.push(...issueProblems(issue, merged, name === undefined ? placeOf : () => placeOfVariable(name)));
    }
  }
  if (problems.length > 0 || !parsed.success) return { type: "invalid", problems };
  const created = createSettings(parsed.data, file, env, root);
  const settings: Settings = {
    ...created,
    envFile: envFile.path,
    warnings: [...envFile.warnings, ...names.warnings],
    sources: listSettingSources({
      ...{ config: parsed.data, defaults: configSchema.parse({}), written: value },
      mask: createMasker(created.secrets),
      ...{ placeOf, env, variables: envFile.env, placeOfVariable: envFile.placeOf },
    }),
  };
  const exposed = exposedFolders(settings).map(({ path, message }) => ({
    place: path.length > 0 || !env.REMORA_SKILLS ? placeOf(path) : placeOfVariable("REMORA_SKILLS"),
    key: path.join("."),
    message,
  }));
  return exposed.length > 0 ? { type: "invalid", problems: exposed } : { type: "ok", settings };
}

export function formatProblems(problems: readonly ConfigProblem[]): string {
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  return `The configuration has ${count}:\n${problems.map((problem) => `  ${formatProblem(problem)}`).join("\n")}`;
}

export function formatProblem({ place, key, message }: ConfigProblem): string {
  return `[${place}] ${key === "" ? "" : `${key}: `}${message}`;
}
