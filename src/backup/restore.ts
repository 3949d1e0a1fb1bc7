/**
 * Restores a backup, all of it or nothing: into an own folder, which gets its name last, or into the installation
 * (swap.ts). Before anything changes, everything is unpacked and checked, and today's code has opened it.
 */
import { execFile } from "node:child_process";
import { mkdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ifMissing, RemoraError } from "../lib/errors.ts";
import { asidePrefix, stagingName } from "./left-out.ts";
import type { BackupHeader, Part } from "./manifest.ts";
import { namesIn } from "./names-in.ts";
import { decideSwap, finishSwap, planSwap } from "./swap.ts";
import { type Unpacked, unpackBackup } from "./unpack.ts";

export interface Installation {
  data: string;
  workspace: string;
  configFile: string;
  envFile: string;
}

export interface RedisTarget {
  /** Rejects if there is something. */
  checkEmpty(): Promise<void>;
  /** Writes the files of the archive's folder `redis` under names that nothing reads. */
  stage(folder: string): Promise<void>;
  /** Gives the staged keys their names, in one step. Repeatable. */
  name(): Promise<void>;
}

export interface RestoreOptions {
  file: string;
  version: string;
  target: { type: "folder"; folder: string } | ({ type: "installation"; replace: boolean } & Installation);
  /** Opens the unpacked folders as a start would. Returns lines for people. Rejects if today's code can't use them. */
  verify(places: Record<Part, string>): Promise<string[]>;
  /** For a backup from Redis, when it is restored into the installation. */
  redis(header: BackupHeader, places: Record<Part, string>): Promise<RedisTarget | undefined>;
}

export interface Restored extends Unpacked {
  /** Where the old content is now. */
  aside: string[];
  /** Where secret files are, which have no place of their own. */
  secrets: string | undefined;
  notes: string[];
}

/** Reads and checks the whole archive, and writes nothing. */
export async function checkBackup(file: string, version: string): Promise<Unpacked> {
  return await unpackBackup(file, version, undefined);
}

export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { target } = options;
  return target.type === "folder" ? await intoFolder(options, target.folder) : await intoInstallation(options, target);
}

async function intoFolder(options: RestoreOptions, folder: string): Promise<Restored> {
  if ((await namesIn(folder)).length > 0) throw occupied(folder, "is not empty. Name a folder that does not exist yet");
  const staging = `${folder}.partial-${process.pid}`;
  try {
    const places = placesIn(staging);
    for (const place of [places.data, places.workspace]) await mkdir(place, { recursive: true, mode: 0o700 });
    const unpacked = await unpackBackup(options.file, options.version, places);
    const notes = await options.verify(places);
    await syncDisks();
    await rmdir(folder).catch(ifMissing(undefined));
    await rename(staging, folder);
    return { ...unpacked, aside: [], secrets: undefined, notes };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function intoInstallation(options: RestoreOptions, to: Installation & { replace: boolean }): Promise<Restored> {
  const { data, workspace, configFile, envFile } = to;
  if (!to.replace) await checkUnused(to);
  const stagings = [data, workspace].map((folder) => join(folder, stagingName));
  const places = {
    ...placesIn(join(data, stagingName)),
    data: join(data, stagingName, "new"),
    workspace: join(workspace, stagingName, "new"),
  };
  let isDecided = false;
  try {
    for (const staging of stagings) await rm(staging, { recursive: true, force: true });
    for (const place of [places.data, places.workspace]) await mkdir(place, { recursive: true, mode: 0o700 });
    const unpacked = await unpackBackup(options.file, options.version, places);
    const notes = await options.verify(places);
    const redis = await options.redis(unpacked.header, places);
    await redis?.stage(places.redis);
    const secretFiles = join(places.secrets, "files");
    const hasSecretFiles = (await namesIn(secretFiles)).length > 0;
    if (hasSecretFiles) await rename(secretFiles, join(places.data, restoredSecrets));
    const plan = await planSwap({
      folders: [data, workspace],
      files: await singleFiles(places, configFile, envFile),
      stamp: new Date().toISOString().slice(0, 19).replaceAll(":", "-"),
      isRedisStaged: redis !== undefined,
    });
    await syncDisks();
    await decideSwap(data, plan);
    isDecided = true;
    await finishSwap(data, async () => await redis?.name());
    const secrets = hasSecretFiles ? join(data, restoredSecrets) : undefined;
    return { ...unpacked, aside: plan.aside, secrets, notes };
  } finally {
    if (!isDecided) for (const staging of stagings) await rm(staging, { recursive: true, force: true });
  }
}

const restoredSecrets = "restored-secrets";

function placesIn(folder: string): Record<Part, string> {
  const place = (part: Part) => join(folder, part);
  return {
    data: place("data"),
    workspace: place("workspace"),
    config: place("config"),
    secrets: place("secrets"),
    redis: place("redis"),
  };
}

async function singleFiles(places: Record<Part, string>, configFile: string, envFile: string) {
  const [config] = await namesIn(places.config);
  const hasEnv = (await namesIn(places.secrets)).includes(".env");
  return [
    ...(config === undefined ? [] : [{ from: join(places.config, config), to: configFile }]),
    ...(hasEnv ? [{ from: join(places.secrets, ".env"), to: envFile }] : []),
  ];
}

/** What ships with Remora does not count as content. */
const learned = [
  ...["files", "drafts", "outputs", "outbox", "journals", "skills", "knowledge", "brain/hippocampus/episodes"],
  ...["brain/hippocampus/knowledge", "brain/basalganglia", "brain/corpus", "brain/motor/tasks"],
];

async function checkUnused({ data, workspace }: Installation): Promise<void> {
  const inData = (await namesIn(data)).filter(
    (name) =>
      !/^(?:process\.(?:db|pid).*|page-token)$/.test(name) && name !== stagingName && !name.startsWith(asidePrefix),
  );
  if (inData.length > 0) throw occupied(data, notEmpty);
  for (const folder of learned)
    if ((await namesIn(join(workspace, folder))).length > 0) throw occupied(join(workspace, folder), notEmpty);
}

const notEmpty =
  "has content already. To restore over it, add --replace, which moves the old content aside; or restore elsewhere with --into FOLDER";

function occupied(place: string, message: string): RemoraError {
  return new RemoraError({ code: "restore.not-empty", place, message: `${message}. Nothing was changed.` });
}

/** The renames must not reach the disk before the files. */
async function syncDisks(): Promise<void> {
  await promisify(execFile)("sync").catch(() => undefined);
}
