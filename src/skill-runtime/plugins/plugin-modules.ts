/**
 * The modules that plugins are made of. Node keeps a module for good under its address, and one of the older kind under its path.
 * So for each version of a plugin
 *
 *   1. its file has an address of its own, and so has every file of its skill that is imported from there
 *   2. modules of the older kind are taken out of Node's cache
 *
 * and when one of these files changes, the plugin has a new version. What lies elsewhere, in `node_modules` too, is loaded once.
 */
import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { createRequire, type ModuleHooks, registerHooks } from "node:module";
import { relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isInside } from "../library/find.ts";

export interface PluginModules {
  /** Another one when the file, or one of its skill that it has imported, has changed. Rejects when the file is not there. */
  versionOf(path: string): Promise<string>;
  /** Runs the plugin's file, and what it imports, once for each version; resolves with what it exports. */
  load(path: string, folder: string, version: string): Promise<{ default?: unknown }>;
  close(): void;
}

/** One version of a plugin. */
interface Version {
  /** Of the skill, with links resolved. */
  folder: string;
  /** By path, with links resolved: when the file was changed last before it was imported. */
  imported: Map<string, number>;
}

interface Known {
  version: Version | undefined;
  /** How often the file's own date has not told that something is new. */
  changes: number;
}

const parameter = "remora-plugin";

export function createPluginModules(): PluginModules {
  const byKey = new Map<string, Version>();
  const byPath = new Map<string, Known>();
  let hooks: ModuleHooks | undefined;

  const versionImporting = (address: string | undefined): { key?: string; version?: Version } => {
    if (address?.startsWith("file:") !== true) return {};
    const key = URL.parse(address)?.searchParams.get(parameter) ?? undefined;
    if (key !== undefined) return { key, ...optional(byKey.get(key)) };
    const path = fileURLToPath(address);
    // What is required has no address with a key, and always belongs to the newest version.
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
        // A later import of the same file gives what the first one gave.
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
        // Node keeps what could not be loaded as well, also when it was for a file that is there by the next time.
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

/** Not a number for a file that is gone, so that it never equals what it was. */
function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN;
}

function optional(version: Version | undefined): { version?: Version } {
  return version === undefined ? {} : { version };
}
