/**
 * Finds configured folders that would give tools access to Remora's own files: its data, such as the page's token, its
 * memory, and the folders that skills are loaded from, where a kept file would act in every conversation.
 *
 * Paths are compared as the system would open them: links and `..` are followed in order, and what exists is known by its
 * device and inode, so another spelling of a name does not hide it. What does not exist yet is compared by name.
 */
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import type { Config } from "./schema.ts";

export interface ExposedFolder {
  /** Empty for folders that no setting of the file names, such as those of REMORA_SKILLS. */
  path: string[];
  message: string;
}

export interface FolderSettings {
  config: Config;
  data: string;
  configFile: string;
  envFile: string;
  workspace: string;
  skillRoots: readonly string[];
}

/** Parts of the workspace that only Remora itself writes. */
const ownParts = ["brain", "drafts", "journals", "outbox", "outputs"];
const maxLinks = 40;

/** A view hides a data folder below `sandbox.readable`, but a working folder shows everything in it. */
export function exposedFolders(settings: FolderSettings): ExposedFolder[] {
  const { config, data, configFile, envFile, workspace, skillRoots } = settings;
  const own = [data, configFile, envFile, ...ownParts.map((part) => join(workspace, part))];
  const given = Object.entries(config.folders).flatMap(([id, folder]): ExposedFolder[] => {
    const path = ["folders", id];
    const skills = skillRoots.find((root) => overlap(root, folder));
    if (skills !== undefined) return [{ path, message: skillsText(folder, skills) }];
    const exposed = own.find((each) => overlap(each, folder));
    return exposed === undefined ? [] : [{ path, message: exposureText(folder, exposed) }];
  });
  const files = join(workspace, "files");
  const skills = skillRoots.flatMap((root): ExposedFolder[] => {
    if (!overlap(root, files)) return [];
    const index = config.skills.folders.findIndex((folder) => overlap(root, folder));
    const path = index === -1 ? [] : ["skills", "folders", `${index}`];
    return [{ path, message: skillsText(files, root) }];
  });
  const readable = config.sandbox.readable.flatMap((folder, index): ExposedFolder[] => {
    const inData = isWithin(spotOf(folder), spotOf(data));
    const hasSecrets = existsSync(envFile) && isWithin(spotOf(envFile), spotOf(folder));
    if (!inData && !hasSecrets) return [];
    return [{ path: ["sandbox", "readable", `${index}`], message: exposureText(folder, inData ? data : envFile) }];
  });
  return [...given, ...skills, ...readable];
}

function exposureText(folder: string, exposed: string): string {
  return `tools could read Remora's own ${exposed} in ${folder}. Choose another folder.`;
}

function skillsText(folder: string, skills: string): string {
  return `tools would work in ${folder}, but skills are loaded from ${skills}, so a file that is kept there could act in every conversation. Choose another folder for one of them.`;
}

/** As the system opens the folder, and as its text reads, because parts of it are joined to paths. */
function overlap(own: string, folder: string): boolean {
  const first = spotOf(own);
  return [folder, resolve(folder)]
    .map((path) => spotOf(path))
    .some((second) => isWithin(first, second) || isWithin(second, first));
}

interface Spot {
  /** Device and inode of the folders that exist, from the root to the last one. */
  ids: string[];
  /** Names below it that do not exist yet. */
  missing: string[];
}

function isWithin(inner: Spot, outer: Spot): boolean {
  const last = outer.ids.at(-1) ?? "";
  if (outer.missing.length === 0) return inner.ids.includes(last);
  return inner.ids.at(-1) === last && outer.missing.every((name, index) => inner.missing[index] === name);
}

function spotOf(path: string, links = 0): Spot {
  const names = absolute(path).split(sep);
  for (let count = names.length; count > 0; count -= 1) {
    const there = names.slice(0, count).join(sep) || sep;
    const real = realPath(there);
    if (real !== undefined) return below(real, names.slice(count));
    // A link to what does not exist yet.
    const target = links < maxLinks ? linkTarget(there) : undefined;
    if (target !== undefined) {
      const from = target.startsWith(sep) ? target : `${names.slice(0, count - 1).join(sep)}${sep}${target}`;
      return spotOf([from, ...names.slice(count)].join(sep), links + 1);
    }
  }
  return { ids: [], missing: names };
}

function below(real: string, names: readonly string[]): Spot {
  let folder = real;
  const missing: string[] = [];
  for (const name of names) {
    if (name === "" || name === ".") continue;
    if (name !== "..") missing.push(name.normalize("NFC").toLowerCase());
    else if (missing.pop() === undefined) folder = dirname(folder);
  }
  return { ids: idsOf(folder), missing };
}

function idsOf(folder: string): string[] {
  const { dev, ino } = statSync(folder, { bigint: true });
  const above = dirname(folder);
  return [...(above === folder ? [] : idsOf(above)), `${dev}:${ino}`];
}

/** Not `path.resolve`, which would take `..` from the text before the links in front of it are followed. */
function absolute(path: string): string {
  return path.startsWith(sep) ? path : `${process.cwd()}${sep}${path}`;
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** A path that does not exist stays as it is. */
export function withoutLinks(path: string): string {
  return realPath(path) ?? path;
}
