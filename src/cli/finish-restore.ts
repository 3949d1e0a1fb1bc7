/**
 * Completes a restore that was decided and then interrupted. `start` calls this before it reads or opens anything, so
 * nothing half-restored is ever used.
 */
import { resolve } from "node:path";
import { finishSwap, hasUnfinishedRestore } from "../backup/swap.ts";
import { redisSettings } from "../config/derive.ts";
import { readEnvFile } from "../config/env-file.ts";
import { type Environment, readVariable } from "../config/environment.ts";
import { lockData } from "../storage/sqlite/data-lock.ts";
import { openCopy } from "./open-state.ts";
import { settingsFor } from "./settings.ts";

/** The caller must hold the lock of the data folder. */
export async function finishRestore(env: Environment, root: string): Promise<boolean> {
  const { data } = placesOf(env, root);
  if (!hasUnfinishedRestore(data)) return false;
  return await finishSwap(data, async () => {
    const settings = redisSettingsOf(env, root);
    if (settings === null) throw new Error("set REDIS_URL, because the restore includes what Redis held");
    const copy = await openCopy(settings);
    await copy.name();
    await copy.close();
  });
}

export async function finishInterruptedRestore(env: Environment, root: string): Promise<void> {
  const { data } = placesOf(env, root);
  if (!hasUnfinishedRestore(data)) return;
  const lock = lockData(data);
  try {
    if (await finishRestore(env, root)) process.stderr.write("A restore was interrupted. It is complete now.\n");
  } finally {
    lock.release();
  }
}

/** The places must be known without a valid configuration, because the configuration may be what is restored. */
export function placesOf(variables: Environment, root: string) {
  const { env, path: envFile } = readEnvFile(variables, root);
  return {
    data: resolve(root, readVariable(env, "REMORA_DATA") ?? "data"),
    workspace: resolve(root, readVariable(env, "REMORA_WORKSPACE") ?? "workspace"),
    configFile: resolve(root, readVariable(env, "REMORA_CONFIG") ?? "config/remora.yaml"),
    envFile,
  };
}

/** Null without Redis. Throws if there is Redis and no valid configuration, which has its prefix. */
export function redisSettingsOf(variables: Environment, root: string): ReturnType<typeof redisSettings> {
  const { env } = readEnvFile(variables, root);
  if (readVariable(env, "REDIS_URL") === undefined && readVariable(env, "REDIS_URL_FILE") === undefined) return null;
  return redisSettings(settingsFor(variables, root));
}
