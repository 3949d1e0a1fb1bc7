/**
 * Loads the modules of plugins. Node caches modules permanently, ES modules by URL and CommonJS modules by path. So
 * each version of a plugin gets unique URLs for its files, and its CommonJS modules are removed from Node's cache.
 * Other files, such as `node_modules`, are loaded once.
 */
import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { createRequire, type ModuleHooks, registerHooks } from "node:module";
import { relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isInside } from "../../lib/is-inside.ts";

export interface PluginModules {
  /** The version changes with the file and with the skill's files that it imports. Rejects if the file is missing. */
  versionOf(path: string): Promise<string>;
  load(path: string, folder: string, version: string): Promise<{ default?: unknown }>;
  close(): void;
}

interface Version {
  /** The skill's folder, with links resolved. */
  folder: string;
  /** Modification times before the import, by path with links resolved. */
  imported: Map<string, number>;
}

interface Known {
  version: Version | undefined;
  /** Incremented to force a reload although the file's modification time is the same. */
  changes: number;
}

const parameter = "remora-plugin";

export function createPluginModules(): PluginModules {
  const byKey = new Map<string, Version>();
  const byPath = new Map<string, Known>();
  let hooks: ModuleHooks | undefined;

  const versionImporting = (address: string | undefined): { key?: string; version?: Version } => {
    if (address?.startsWith("file:") !== true) return {};
    const key = address.includes(parameter)
      ? (URL.parse(address)?.searchParams.get(parameter) ?? undefined)
      : undefined;
    if (key !== undefined) return { key, ...optional(byKey.get(key)) };
    const path = fileURLToPath(address);
    // A module loaded with `require` has no unique URL, so it belongs to the newest version.
    const known = [...byPath.values()].find(({ version }) => version !== undefined && isOfSkill(path, version.folder));
    return optional(known?.version);
  };
  const follow = () =>
    registerHooks({
      resolve(specifier, context, nextResolve) {
        const resolved = nextResolve(specifier, context);
        const { key, version } = versionImporting(context.parentURL);
        if (version === undefined || !resolved.url.startsWith("file:")) return resolved;
        const path = fileURLToPath(resolved.url);
        if (!isOfSkill(path, version.folder)) return resolved;
        // Record only the first import of a file, because later imports return the same module.
        if (!version.imported.has(path)) version.imported.set(path, changedAt(path));
        if (key === undefined || !context.conditions.includes("import")) return resolved;
        return { ...resolved, url: withKey(resolved.url, key) };
      },
    });

  return {
    async versionOf(path) {
      const { mtimeMs } = await stat(path);
      const known = byPath.get(path);
      const imported = known?.version?.imported;
      if (known !== undefined && [...(imported ?? [])].some(([file, at]) => changedAt(file) !== at)) {
        known.changes += 1;
        imported?.clear();
      }
      return `${mtimeMs} ${known?.changes ?? 0}`;
    },
    async load(path, folder, version) {
      hooks ??= follow();
      const loading = { folder: await realpath(folder), imported: new Map() };
      const key = hash("sha256", `${path} ${version}`).slice(0, 16);
      const known = byPath.get(path) ?? { version: undefined, changes: 0 };
      known.version = loading;
      byPath.set(path, known);
      byKey.set(key, loading);
      const { cache } = createRequire(import.meta.url);
      for (const file of Object.keys(cache)) if (isOfSkill(file, loading.folder)) delete cache[file];
      try {
        return await import(/* @vite-ignore */ withKey(pathToFileURL(path).href, key));
      } catch (thrown) {
        // Use a new URL next time, because Node also caches failed loads, even if the missing file exists by then.
        known.changes += 1;
        throw thrown;
      }
    },
    close() {
      hooks?.deregister();
      hooks = undefined;
    },
  };
}

function withKey(address: string, key: string): string {
  const url = new URL(address);
  url.searchParams.set(parameter, key);
  return url.href;
}

function isOfSkill(path: string, folder: string): boolean {
  return isInside(path, folder) && !relative(folder, path).split(/[/\\]/).includes("node_modules");
}

/** Returns NaN for a deleted file, because NaN differs from every earlier value. */
function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN;
}

function optional(version: Version | undefined): { version?: Version } {
  return version === undefined ? {} : { version };
}
