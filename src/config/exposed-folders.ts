/** Finds configured folders that would give tools access to Remora's own data, such as the page's token. */
import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";
import type { Config } from "./schema.ts";

export interface ExposedFolder {
  path: string[];
  message: string;
}

/** A view hides a data folder below `sandbox.readable`, but a working folder shows everything in it. */
export function exposedFolders(settings: {
  config: Config;
  data: string;
  configFile: string;
  envFile: string;
}): ExposedFolder[] {
  const { config, data, configFile, envFile } = settings;
  const own = [data, configFile, ...(existsSync(envFile) ? [envFile] : [])].map(withoutLinks);
  const given = Object.entries(config.folders).flatMap(([id, folder]): ExposedFolder[] => {
    const exposed = own.find((path) => isWithin(path, withoutLinks(folder)) || isWithin(withoutLinks(folder), path));
    return exposed === undefined ? [] : [{ path: ["folders", id], message: exposureText(folder, exposed) }];
  });
  const readable = config.sandbox.readable.flatMap((folder, index): ExposedFolder[] => {
    const inData = isWithin(withoutLinks(folder), withoutLinks(data));
    const hasSecrets = existsSync(envFile) && isWithin(withoutLinks(envFile), withoutLinks(folder));
    if (!inData && !hasSecrets) return [];
    return [{ path: ["sandbox", "readable", `${index}`], message: exposureText(folder, inData ? data : envFile) }];
  });
  return [...given, ...readable];
}

function exposureText(folder: string, exposed: string): string {
  return `tools could read Remora's own ${exposed} in ${folder}. Choose another folder.`;
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (!isAbsolute(way) && way !== ".." && !way.startsWith(`..${sep}`));
}

/** A path that does not exist stays as it is. */
export function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
