/** `remora restore` puts a backup back, all of it or nothing, and says what it restored. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { auditFolderOf } from "../audit/files.ts";
import { headsFolderOf } from "../audit/heads.ts";
import { verifyAudit } from "../audit/verify.ts";
import type { BackupHeader, Part } from "../backup/manifest.ts";
import { checkBackup, type RedisTarget, type Restored, restoreBackup } from "../backup/restore.ts";
import { checkExists, type Unpacked } from "../backup/unpack.ts";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { silentLog } from "../lib/log.ts";
import { counted } from "../lib/text/counted.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import { createChatStore } from "../platforms/local/chat-store.ts";
import { createKeyvStore } from "../storage/keyv/store.ts";
import { ledgerFile, openLedger } from "../storage/open-state.ts";
import type { RedisCopy } from "../storage/redis/copy.ts";
import { lockData } from "../storage/sqlite/data-lock.ts";
import { shortened } from "./backup.ts";
import { finishRestore, placesOf, redisSettingsOf } from "./finish-restore.ts";
import { openCopy } from "./open-state.ts";
import { installedVersion } from "./version.ts";

export interface RestoreFlags {
  into?: string;
  replace?: boolean;
  dryRun?: boolean;
}

export async function restoreCommand(
  env: Environment,
  root: string,
  written: string,
  flags: RestoreFlags,
): Promise<void> {
  const file = resolve(written);
  const version = installedVersion;
  checkExists(file);
  if (flags.dryRun) {
    process.stdout.write(describeChecked(await checkBackup(file, version)));
    return;
  }
  const text =
    flags.into === undefined
      ? await restoreHere(env, root, file, version, flags.replace === true)
      : await restoreElsewhere(file, version, resolve(flags.into));
  process.stdout.write(text);
}

async function restoreElsewhere(file: string, version: string, folder: string): Promise<string> {
  const target = { type: "folder" as const, folder };
  const restored = await restoreBackup({ file, version, target, verify, redis: async () => undefined });
  return [
    ...describe(restored),
    `It is in ${folder}. To use it:`,
    `  REMORA_DATA=${join(folder, "data")} REMORA_WORKSPACE=${join(folder, "workspace")} npm start`,
    ...(restored.header.storage === "redis"
      ? ["What Redis held is in the folder redis. To put it into a Redis, restore without --into."]
      : []),
    "",
  ].join("\n");
}

export async function restoreHere(
  env: Environment,
  root: string,
  file: string,
  version: string,
  replace: boolean,
): Promise<string> {
  const installation = placesOf(env, root);
  const locks = await lockAll(installation.data);
  let copy: RedisCopy | undefined;
  try {
    await finishRestore(env, root);
    const redis = async (header: BackupHeader): Promise<RedisTarget | undefined> => {
      const settings = redisSettingsOf(env, root);
      checkStorage(header, settings !== null, file);
      if (settings === null) return undefined;
      copy = await openCopy(settings);
      await copy.checkEmpty();
      return copy;
    };
    const token = join(installation.data, "page-token");
    const hadToken = existsSync(token);
    const target = { type: "installation" as const, replace, ...installation };
    const restored = await restoreBackup({ file, version, target, verify, redis });
    return [
      ...describe(restored, existsSync(installation.envFile)),
      ...(restored.aside.length === 0
        ? []
        : ["What was there before is now in:", ...restored.aside.map((path) => `  ${path}`)]),
      ...(restored.secrets === undefined
        ? []
        : [`Secret files are in ${restored.secrets}. Put them where your NAME_FILE variables point.`]),
      ...(hadToken && !existsSync(token) ? ["The local page gets a new link. The next start prints it."] : []),
      "Remora does not know what was asked or answered after the backup, so requests can come again, under the approval rules of the backup.",
      "Start Remora now. It continues where the backup was made.",
      "",
    ].join("\n");
  } finally {
    await copy?.close();
    for (const lock of locks) lock.release();
  }
}

function checkStorage({ storage }: BackupHeader, hasRedis: boolean, file: string): void {
  if ((storage === "redis") === hasRedis) return;
  const message = hasRedis
    ? "is from a Remora without Redis, and REDIS_URL is set. Unset it for the restore"
    : "is from a Remora with Redis. Set REDIS_URL to an empty Redis, or restore elsewhere with --into FOLDER";
  throw new RemoraError({ code: "restore.storage", place: file, message: `${message}. Nothing was changed.` });
}

/** With Redis, each process on this machine locks a folder of its own. */
async function lockAll(data: string) {
  const locks = [lockData(data)];
  try {
    const names = await readdir(data);
    for (const name of names.filter((found) => /^process-\d+$/.test(found))) locks.push(lockData(join(data, name)));
    return locks;
  } catch (thrown) {
    for (const lock of locks) lock.release();
    throw thrown;
  }
}

/** Opens what was unpacked, which also brings old databases to today's schema. */
async function verify(places: Record<Part, string>): Promise<string[]> {
  const { data, workspace } = places;
  const notes: string[] = [];
  if (existsSync(ledgerFile(data))) {
    const ledger = await openLedger({ data, redis: null, log: silentLog });
    try {
      const [running, parked, waiting] = await Promise.all([
        ledger.list("turn", { states: ["running"] }),
        ledger.list("turn", { states: ["parked"] }),
        ledger.list("approval", { states: ["open"] }),
      ]);
      const requests = running.length + parked.length;
      if (requests > 0)
        notes.push(
          `${counted(requests, "request")} ${requests === 1 ? "was" : "were"} under way when the backup was made (${counted(waiting.length, "approval")} open). The next start continues ${requests === 1 ? "it" : "them"}.`,
        );
    } finally {
      await ledger.close();
    }
  }
  if (existsSync(join(data, "store.db"))) {
    const store = createKeyvStore({ path: join(data, "store.db") });
    await store.get("page-home");
    await store.close();
  }
  if (existsSync(join(data, "local.db"))) createChatStore(join(data, "local.db")).close();
  const audit = await verifyAudit({ folder: auditFolderOf(workspace), headsFolder: headsFolderOf(data) });
  notes.push(
    audit.problems.length === 0
      ? `The audit log is whole: ${counted(audit.lines, "line")}.`
      : `The audit log has ${counted(audit.problems.length, "problem")}. To see them: npm run -s remora -- audit verify`,
  );
  return notes;
}

function describe(restored: Restored, hasEnvFile = false): string[] {
  return [`Restored ${contentOf(restored)}.`, ...restored.notes, ...missingIn(restored, hasEnvFile)];
}

function describeChecked(unpacked: Unpacked): string {
  return [`The backup is whole: ${contentOf(unpacked)}.`, ...missingIn(unpacked), "Nothing was changed.", ""].join(
    "\n",
  );
}

function contentOf({ header, manifest }: Unpacked): string {
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  const at = header.createdAt.slice(0, 16).replace("T", " ");
  return `${counted(manifest.files.length, "file")} (${formatBytes(bytes)}), saved by Remora ${header.remora} on ${at} UTC`;
}

function missingIn({ header, manifest }: Unpacked, hasEnvFile = false): string[] {
  const todo = hasEnvFile ? "The .env that is here stays as it is." : "Set them before you start.";
  const left = manifest.leftOut.map(({ path, reason }) => `  ${path}: ${reason}`);
  return [
    ...(header.hasSecrets ? [] : [`Tokens and keys are not in it. ${todo}`]),
    ...(left.length === 0 ? [] : ["The backup left out:", ...shortened(left)]),
  ];
}
