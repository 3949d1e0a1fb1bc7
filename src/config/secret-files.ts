/**
 * Reads secrets from files, as containers provide them: `NAME_FILE` is the path of a file with the value of `NAME`. Then
 * cleans and checks the secrets of the environment, wherever they come from.
 */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { tokenFormProblem } from "../lib/text/clean-token.ts";
import { type ConfigProblem, type Environment, environmentKeys, readVariable } from "./environment.ts";
import { secretVariables } from "./variable-names.ts";

const maxSecretBytes = 64 * 1024;
const placeVariables = ["REMORA_MODEL", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OLLAMA_HOST"].concat(
  "SLACK_API_URL",
  "DISCORD_API_URL",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
);

/** The schema checks what is also a setting. */
const plainSecrets = secretVariables.filter((name) => environmentKeys.every(([one]) => one !== name));

export interface SecretFiles {
  env: Environment;
  problems: ConfigProblem[];
}

/** `used` has the names that the configuration's text uses. Relative paths start at `root`. */
export function readSecretFiles(env: Environment, used: ReadonlySet<string>, root: string): SecretFiles {
  const found: Record<string, string> = {};
  const problems: ConfigProblem[] = [];
  for (const name of new Set<string>([...secretVariables, ...used])) {
    const place = `${name}_FILE`;
    const path = env[place];
    if (path === undefined || path === "") continue;
    const value = env[name] ? `${name} is set too. Set only one of them.` : readSecret(resolve(root, path));
    if (typeof value === "string") problems.push({ place, key: "", message: value });
    else found[name] = value.secret;
  }
  return { env: { ...env, ...found }, problems };
}

/** Never opens a pipe or a device that would not end. */
function readSecret(path: string): { secret: string } | string {
  try {
    const facts = statSync(path);
    if (!facts.isFile()) return `${path} is not a file. Give the path of a file that holds only the secret.`;
    if (facts.size > maxSecretBytes)
      return `${path} has more than ${maxSecretBytes / 1024} KiB. Use a file that holds only the secret.`;
    const secret = readFileSync(path, "utf8")
      .replace(/^\uFEFF/, "")
      .replace(/(?:\r?\n)+$/, "");
    if (secret.trim() === "") return `${path} is empty. Write the secret into it, or unset the variable.`;
    return { secret };
  } catch (thrown) {
    return `the file can't be read: ${messageOf(thrown)}. Check the path and its permissions.`;
  }
}

/** Pasted values often have blanks around them, and those that name a model or an address also quotes. */
export function withoutBlanks(env: Environment): Environment {
  const trimmed = (name: string) => env[name]?.trim() ?? "";
  const unquoted = (name: string) =>
    trimmed(name)
      .replace(/^(["'])(.*)\1$/s, "$2")
      .trim();
  return {
    ...env,
    ...Object.fromEntries(secretVariables.filter((name) => env[name]).map((name) => [name, trimmed(name)])),
    ...Object.fromEntries(placeVariables.filter((name) => env[name]).map((name) => [name, unquoted(name)])),
  };
}

/** Reports what can't be a key or a token. Never shows it. */
export function secretProblems(env: Environment, placeOf: (name: string) => string): ConfigProblem[] {
  return plainSecrets.flatMap((name) => {
    const value = readVariable(env, name);
    const found = value === undefined ? undefined : tokenFormProblem(value);
    const message = `its value ${found}. Copy it again, and write only that.`;
    return found === undefined ? [] : [{ place: placeOf(name), key: "", message }];
  });
}
