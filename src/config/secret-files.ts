/** Reads secrets from files, as containers provide them: `NAME_FILE` is the path of a file with the value of `NAME`. */
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../lib/errors.ts";

/** Each contains a secret, or an address with a secret in it. */
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
  env: Readonly<Record<string, string | undefined>>;
  problems: { place: string; key: string; message: string }[];
}

/** `source` is the configuration's text. Drops a newline at the end of a file. */
export function readSecretFiles(env: SecretFiles["env"], source: string): SecretFiles {
  const used = Array.from(source.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g), ([, name = ""]) => name);
  const found: Record<string, string> = {};
  const problems: SecretFiles["problems"] = [];
  for (const name of new Set([...secretVariables, ...used])) {
    const place = `${name}_FILE`;
    const path = env[place];
    if (path === undefined || path === "") continue;
    const value = env[name] ? `${name} is set too. Set only one of them.` : readSecret(path);
    if (typeof value === "string") problems.push({ place, key: "", message: value });
    else found[name] = value.secret;
  }
  return { env: { ...env, ...found }, problems };
}

function readSecret(path: string): { secret: string } | string {
  try {
    if (statSync(path).size > maxSecretBytes)
      return `${path} has more than ${maxSecretBytes / 1024} KiB. Use a file that holds only the secret.`;
    const secret = readFileSync(path, "utf8").replace(/\r?\n$/, "");
    return secret === "" ? `${path} is empty. Write the secret into it, or unset the variable.` : { secret };
  } catch (thrown) {
    return `the file can't be read: ${messageOf(thrown)}. Check the path and its permissions.`;
  }
}
