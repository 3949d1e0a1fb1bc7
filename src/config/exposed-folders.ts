/** Folders of the configuration that would put Remora's own data, with the page's token, within reach of tools. */
import { realpathSync } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";
import type { Config } from "./schema.ts";

export interface ExposedFolder {
  /** Of the setting. */
  path: string[];
  message: string;
}

/** Views hide the data folder below a folder of `sandbox.readable`; a working folder shows everything that is in it. */
export function exposedFolders(settings: { config: Config; data: string; configFile: string }): ExposedFolder[] {
  const { config, data, configFile } = settings;
  const own = [data, configFile].map(withoutLinks);
  const given = Object.entries(config.folders).flatMap(([id, folder]): ExposedFolder[] => {
    const exposed = own.find((path) => isWithin(path, withoutLinks(folder)) || isWithin(withoutLinks(folder), path));
    return exposed === undefined ? [] : [{ path: ["folders", id], message: reasonFor(folder, exposed) }];
  });
  const readable = config.sandbox.readable.flatMap((folder, index): ExposedFolder[] =>
    isWithin(withoutLinks(folder), withoutLinks(data))
      ? [{ path: ["sandbox", "readable", `${index}`], message: reasonFor(folder, data) }]
      : [],
  );
  return [...given, ...readable];
}

function reasonFor(folder: string, exposed: string): string {
  return `tools could read Remora's own ${exposed} in ${folder}. Name a folder apart from it.`;
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (!isAbsolute(way) && way !== ".." && !way.startsWith(`..${sep}`));
}

function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
