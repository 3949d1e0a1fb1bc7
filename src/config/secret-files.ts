/** Reads secrets from files, as containers provide them: `NAME_FILE` is the path of a file with the value of `NAME`. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { ConfigProblem, Environment } from "./environment.ts";
import { secretVariables } from "./variable-names.ts";

const maxSecretBytes = 64 * 1024;

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
