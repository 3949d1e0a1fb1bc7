/**
 * Secrets that lie in files, as containers give them: `NAME_FILE` is the path of a file that holds the value of `NAME`. It
 * works for every secret variable, and for every `${NAME}` of the configuration.
 */
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../lib/errors.ts";

/** Variables that hold a secret, or an address with one. */
const secretVariables = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "DISCORD_TOKEN",
  "SLACK_BOT_TOKEN",
  "SLACK_APP_TOKEN",
  "SLACK_SIGNING_SECRET",
  "REDIS_URL",
] as const;

const maxSecretBytes = 64 * 1024;

export interface SecretFiles {
  /** The environment with the values of the files. */
  env: Readonly<Record<string, string | undefined>>;
  problems: { place: string; key: string; message: string }[];
}

/** `source`: the configuration's text. One newline at the end of a file is not part of the value. */
export function readSecretFiles(env: SecretFiles["env"], source: string): SecretFiles {
  const used = Array.from(source.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g), ([, name = ""]) => name);
  const found: Record<string, string> = {};
  const problems: SecretFiles["problems"] = [];
  for (const name of new Set([...secretVariables, ...used])) {
    const place = `${name}_FILE`;
    const path = env[place];
    if (path === undefined || path === "") continue;
    const value = env[name] ? `${name} is set as well. Set one of the two.` : readSecret(path);
    if (typeof value === "string") problems.push({ place, key: "", message: value });
    else found[name] = value.secret;
  }
  return { env: { ...env, ...found }, problems };
}

/** The value, or what is wrong with the file. */
function readSecret(path: string): { secret: string } | string {
  try {
    if (statSync(path).size > maxSecretBytes)
      return `${path} has more than ${maxSecretBytes / 1024} KiB. Name a file with the secret alone.`;
    const secret = readFileSync(path, "utf8").replace(/\r?\n$/, "");
    return secret === "" ? `${path} is empty. Write the secret into it, or unset the variable.` : { secret };
  } catch (thrown) {
    return `the file can't be read: ${messageOf(thrown)}. Check the path and who may read it.`;
  }
}
