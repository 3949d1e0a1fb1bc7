/** `remora backup` saves everything to one file, while the agent runs or not. */
import { existsSync, statSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { type BackupSummary, createBackup } from "../backup/create-backup.ts";
import type { LeftOut } from "../backup/manifest.ts";
import { redisSettings } from "../config/derive.ts";
import { readEnvFile } from "../config/env-file.ts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";
import { isInside } from "../lib/is-inside.ts";
import { counted } from "../lib/text/counted.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import { openCopy } from "./open-state.ts";
import { settingsFor } from "./settings.ts";
import { installedVersion } from "./version.ts";

export interface BackupFlags {
  withSecrets?: boolean;
  json?: boolean;
}

const maxListedPaths = 10;
/** Shorter values are too likely to be part of other words. */
const minSecretCharacters = 8;

export async function backupCommand(
  env: Environment,
  root: string,
  written: string,
  flags: BackupFlags,
): Promise<void> {
  const settings = settingsFor(env, root);
  const summary = await backUp(settings, root, written, flags.withSecrets === true);
  process.stdout.write(flags.json ? `${JSON.stringify(summary)}\n` : describe(summary, settings, flags));
}

export async function backUp(settings: Settings, root: string, written: string, hasSecrets: boolean) {
  const { data, workspace } = settings;
  const file = await checkedFile(written, settings);
  if (!existsSync(data))
    throw refusal(data, "does not exist, so there is nothing to back up. Set REMORA_DATA to the agent's data folder");
  const leftOut: LeftOut[] = [];
  const config = await readConfig(settings, hasSecrets, leftOut);
  const secrets = hasSecrets ? await readSecrets(settings, root) : [];
  const redis = redisSettings(settings);
  const source = redis === null ? undefined : await openCopy(redis);
  try {
    return await createBackup({
      ...{ file, data, workspace, config, hasSecrets, secrets, leftOut },
      version: installedVersion,
      redis: source && (() => source.export()),
    });
  } finally {
    await source?.close();
  }
}

async function checkedFile(written: string, { data, workspace }: Settings): Promise<string> {
  const given = resolve(written);
  // A new name without an ending is a folder, too: otherwise a daily backup would find its own first file there.
  const isFolder = existsSync(given) ? statSync(given).isDirectory() : extname(given) === "";
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(":", "-");
  const file = isFolder ? join(given, `remora-${stamp}.tar.gz`) : given;
  if (existsSync(file)) throw refusal(file, "exists already. Name another file, or a folder");
  const own = [data, workspace].find((folder) => isInside(file, folder));
  if (own !== undefined) throw refusal(file, `is inside ${own}, which the backup contains. Name a file elsewhere`);
  await mkdir(dirname(file), { recursive: true });
  return file;
}

/** Without secrets, those in the file are replaced by their names. */
async function readConfig({ configFile, secrets }: Settings, hasSecrets: boolean, leftOut: LeftOut[]) {
  if (!existsSync(configFile)) return undefined;
  let text = await readFile(configFile, "utf8");
  const name = basename(configFile);
  if (hasSecrets) return { name, text };
  for (const { name: secret, value } of secrets) {
    if (value.length < minSecretCharacters || !text.includes(value)) continue;
    text = text.replaceAll(value, `LEFT OUT: ${secret}`);
    leftOut.push({ path: `config/${name}`, reason: `the value of ${secret} is a secret` });
  }
  return { name, text };
}

async function readSecrets({ env }: Settings, root: string): Promise<{ name: string; text: string }[]> {
  const dotenv = readEnvFile(env, root).path;
  const files = Object.entries(env).filter(
    ([name, path]) =>
      /^[A-Z0-9_]+_FILE$/.test(name) && path !== undefined && path !== "" && existsSync(resolve(root, path)),
  );
  return [
    ...(existsSync(dotenv) ? [{ name: ".env", text: await readFile(dotenv, "utf8") }] : []),
    ...(await Promise.all(
      files.map(async ([name, path = ""]) => ({
        name: `files/${name.slice(0, -"_FILE".length)}`,
        text: await readFile(resolve(root, path), "utf8"),
      })),
    )),
  ];
}

function describe({ file, bytes, manifest }: BackupSummary, settings: Settings, flags: BackupFlags): string {
  const count = manifest.files.length;
  const left = manifest.leftOut.map(({ path, reason }) => `  ${path}: ${reason}`);
  const outside = Object.values(settings.config.folders);
  return [
    `Saved ${counted(count, "file")} to ${file} (${formatBytes(bytes)}).`,
    flags.withSecrets
      ? "It contains secrets. Everybody who can read it can act as your bot."
      : "Tokens and keys are not in it. To include them, add --with-secrets.",
    ...(outside.length === 0
      ? []
      : ["Not in it, because they are your own folders:", ...outside.map((path) => `  ${path}`)]),
    ...(left.length === 0 ? [] : ["Left out:", ...shortened(left)]),
    `Check it with: npm run -s remora -- restore ${file} --dry-run`,
    "",
  ].join("\n");
}

export function shortened(lines: string[]): string[] {
  if (lines.length <= maxListedPaths) return lines;
  return [...lines.slice(0, maxListedPaths), `  and ${lines.length - maxListedPaths} more`];
}

function refusal(place: string, message: string): RemoraError {
  return new RemoraError({ code: "backup.refused", place, message });
}
