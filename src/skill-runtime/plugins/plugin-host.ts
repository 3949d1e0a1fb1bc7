/**
 * Runs the code of skills. For each call:
 *
 *   0. a plugin that did not come with Remora runs in processes of its own (isolated/); what follows is for the others
 *   1. the plugin is loaded if it is new or a file of it has changed (plugin-modules.ts), and its `init` is waited for
 *   2. `execute` runs against the call's signal: an abort ends the waiting, whatever the plugin does
 *   3. what it returned or threw becomes an attempt
 *
 * A replaced or removed plugin is destroyed once, when none of its calls is running. Nothing in here throws.
 */
import { mkdir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { pause } from "../../lib/backoff.ts";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { fileNameOf } from "../../lib/file-name.ts";
import type { Log } from "../../lib/log.ts";
import type { CallFolder } from "../../ports/draft.ts";
import type { JsonObject, Scope } from "../../ports/message.ts";
import { isFromOutside } from "../../ports/origin.ts";
import type { Plugin, PluginContext, PluginHome, PluginServices, ToolOffer } from "../../ports/plugin.ts";
import type { ViewMount } from "../../ports/sandbox.ts";
import type { Skill } from "../../ports/skill.ts";
import type { ToolAttempt } from "../../ports/tool.ts";
import { isInside } from "../library/find.ts";
import { attemptOf, failed } from "./failure.ts";
import type { IsolatedPlugin, IsolatedPlugins } from "./isolated/isolated-plugins.ts";
import type { PluginGuard } from "./plugin-guard.ts";
import { createPluginModules, type PluginModules } from "./plugin-modules.ts";
import { readResult } from "./plugin-result.ts";
import type { BoundCall } from "./plugin-services.ts";

/** What a call may use of Remora; `signal` aborts with the call. */
export type ServicesFor = (call: BoundCall, signal: AbortSignal) => PluginServices;

export interface PluginHostOptions {
  workspace: string;
  /** Each skill gets a folder of its own below it. */
  dataFolder: string;
  /** Where outputs that are too long for the model are kept, of conversations of this scope. */
  outputsFolder(scope: Scope): string;
  /** Files that tools hand out to people are copied into it. */
  outbox: string;
  /** By name of the skill. */
  settings: { [skill: string]: JsonObject };
  servicesFor: ServicesFor | undefined;
  /** What a plugin in force offers, as it came; only those of skills that say so can. */
  onOffer(skill: Skill, source: string, offer: ToolOffer): void;
  guard: PluginGuard;
  /** Runs the plugins that `isIsolated` says; absent: none. */
  isolated?: IsolatedPlugins;
  isIsolated(skill: Skill): boolean;
  log: Log;
}

interface PluginCall extends BoundCall {
  skill: Skill;
  input: JsonObject;
  /** The working folder as this call sees it. */
  folder: CallFolder;
}

export interface PluginHost {
  run(call: PluginCall, signal: AbortSignal): Promise<ToolAttempt>;
  /** Loads a plugin without a call, if it is new or its file has changed. Rejects when it can't be; false for that file from then on. */
  start(skill: Skill): Promise<boolean>;
  /** For the view of a call that the skill's process runs in. */
  mountsFor(skill: Skill): Promise<ViewMount[]>;
  /** Lets go of plugins whose skills are not among these any more. */
  keepOnly(skills: Skill[]): void;
  /** Waits a moment for running calls, then destroys every plugin. */
  close(): Promise<void>;
}

/** One loaded version of a plugin. */
interface Loaded {
  skill: Skill;
  version: string;
  home: PluginHome;
  ready: Promise<Plugin | IsolatedPlugin>;
  running: number;
  isRetired: boolean;
  /** Set once `destroy` has begun. */
  ended: Promise<void> | undefined;
}

/** A plugin that hangs is not waited for longer than this when the process ends. */
const closingMs = 2_000;

export function createPluginHost(options: PluginHostOptions): PluginHost {
  const { guard, log } = options;
  const inForce = new Map<string, Loaded>();
  const all = new Set<Loaded>();
  const modules = createPluginModules();
  /** By path: the version that could not be started. */
  const broken = new Map<string, string>();
  let isClosing = false;

  const end = (loaded: Loaded) => {
    loaded.ended ??= destroy(loaded, guard, log).finally(() => all.delete(loaded));
    return loaded.ended;
  };
  const retire = (path: string) => {
    const loaded = inForce.get(path);
    inForce.delete(path);
    if (loaded === undefined) return;
    loaded.isRetired = true;
    if (loaded.running === 0) void end(loaded);
  };
  const versionOf = async (skill: Skill, path: string) => {
    const { name, providesTools, permissions } = skill;
    const isolated = isolatedFor(skill, options);
    const code = isolated === undefined ? await modules.versionOf(path) : await isolated.versionOf(skill, path);
    const declared = isolated === undefined ? "" : ` ${JSON.stringify(permissions)}`;
    return `${code} ${name}${providesTools ? " provides" : ""}${declared}`;
  };
  const take = (skill: Skill, path: string, version: string): Loaded => {
    const known = inForce.get(path);
    if (known?.version === version) return known;
    retire(path);
    const loaded = load(skill, path, version, options, modules);
    inForce.set(path, loaded);
    all.add(loaded);
    // A plugin that could not be started is started again by the next call.
    loaded.ready.catch(() => {
      if (inForce.get(path) === loaded) inForce.delete(path);
      all.delete(loaded);
    });
    return loaded;
  };
  const release = (loaded: Loaded) => {
    loaded.running -= 1;
    if (loaded.isRetired && loaded.running === 0) void end(loaded);
  };

  return {
    async run(call, signal) {
      const { skill, tool } = call;
      const place = `The tool ${tool} of the skill ${skill.name}`;
      if (skill.plugin === null)
        return failed(`${place} can't run: the skill has no plugin.ts, plugin.js or plugin.mjs.`);
      try {
        const loaded = take(skill, skill.plugin, await versionOf(skill, skill.plugin));
        loaded.running += 1;
        const work = execute(loaded, call, options, signal).finally(() => release(loaded));
        const returned = await untilAborted(work, signal);
        const { dataFolder } = loaded.home;
        const outbox = join(options.outbox, fileNameOf(`${call.scope.turnId}-${call.id}`));
        // What a plugin can't read, it can't have read by naming it.
        const isBlind = isolatedFor(skill, options) !== undefined && skill.permissions.files === "none";
        const workingFolder = isBlind ? dataFolder : call.folder.path;
        return await readResult(returned, place, { workingFolder, dataFolder, outbox });
      } catch (thrown) {
        if (signal.aborted)
          return failed(`${place} was stopped before it had finished; whether it did its work is unknown.`);
        return attemptOf(thrown, place);
      }
    },
    async start(skill) {
      if (skill.plugin === null || isClosing) return false;
      const version = await versionOf(skill, skill.plugin);
      if (isClosing || broken.get(skill.plugin) === version) return false;
      try {
        const plugin = await take(skill, skill.plugin, version).ready;
        if ("start" in plugin) await plugin.start();
        return true;
      } catch (thrown) {
        broken.set(skill.plugin, await versionOf(skill, skill.plugin).catch(() => version));
        throw thrown;
      }
    },
    mountsFor: async (skill) =>
      (await options.isolated?.mountsFor(skill, join(options.dataFolder, folderNameOf(skill)))) ?? [],
    keepOnly(skills) {
      const paths = new Set(skills.map(({ plugin }) => plugin));
      for (const path of [...inForce.keys()]) if (!paths.has(path)) retire(path);
    },
    async close() {
      isClosing = true;
      for (const path of [...inForce.keys()]) retire(path);
      const timeUp = new AbortController();
      const idle = Promise.all([...all].map((loaded) => loaded.ended));
      await Promise.race([idle, pause(closingMs, timeUp.signal)]);
      await Promise.race([Promise.all([...all].map(end)), pause(closingMs, timeUp.signal)]);
      timeUp.abort();
      modules.close();
      await options.isolated?.close();
    },
  };
}

function isolatedFor(skill: Skill, { isolated, isIsolated }: PluginHostOptions): IsolatedPlugins | undefined {
  return isIsolated(skill) ? isolated : undefined;
}

function load(skill: Skill, path: string, version: string, options: PluginHostOptions, modules: PluginModules): Loaded {
  const { workspace, guard, settings } = options;
  const offer: PluginHome["offer"] = (source, offered) => {
    if (!loaded.isRetired) options.onOffer(skill, source, offered);
  };
  const home: PluginHome = {
    workspace,
    skillFolder: skill.folder,
    dataFolder: join(options.dataFolder, folderNameOf(skill)),
    log: guard.logFor(skill.name),
    config: Object.hasOwn(settings, skill.name) ? (settings[skill.name] ?? {}) : {},
    ...(skill.providesTools ? { offer } : {}),
  };
  const start = async () => {
    await mkdir(home.dataFolder, { recursive: true });
    const isolated = isolatedFor(skill, options);
    if (isolated !== undefined) return isolated.load(skill, home);
    const module = await modules.load(path, skill.folder, version);
    const plugin = asPlugin(module.default, skill);
    await plugin.init?.(home);
    return plugin;
  };
  const ready = guard.run(skill.name, start);
  const loaded: Loaded = { skill, version, home, ready, running: 0, isRetired: false, ended: undefined };
  return loaded;
}

/** Of the folder with a skill's data; never begins with a dot. */
export function folderNameOf({ name }: Skill): string {
  return encodeURIComponent(name).replace(/^\.+/, "_");
}

/**
 * Takes the other common shape too: `{ name, tools, init?, execute(tool, args, signal?), destroy? }`, and either of them below
 * one more `default`, as compilers to older modules leave it.
 */
function asPlugin(exported: unknown, skill: Skill): Plugin {
  const found = hasExecute(exported) ? exported : (exported as { default?: unknown } | null | undefined)?.default;
  if (!hasExecute(found)) {
    throw new RemoraError({
      code: "skill.no-plugin",
      place: `skill ${skill.name}`,
      message: `${skill.plugin} has no default export with a function execute(tool, input, context): add one`,
    });
  }
  const plugin = found as Plugin;
  if (!("tools" in found) || !("name" in found)) return plugin;
  const other = found as object as {
    execute(tool: string, input: JsonObject, signal: AbortSignal): ReturnType<Plugin["execute"]>;
  };
  return {
    init: (home) => plugin.init?.(home),
    execute: (tool, input, context) => other.execute(tool, input, context.signal),
    destroy: () => plugin.destroy?.(),
  };
}

function hasExecute(exported: unknown): exported is object {
  return (
    typeof exported === "object" && exported !== null && "execute" in exported && typeof exported.execute === "function"
  );
}

async function execute(
  loaded: Loaded,
  call: PluginCall,
  options: PluginHostOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const { guard, servicesFor } = options;
  const plugin = await loaded.ready;
  signal.throwIfAborted();
  const { scope, conversationId, turnId, requester, untrusted = [], givenAddresses = [] } = call.scope;
  const { path: workingFolder, runInside: _runInside, ...ofFolder } = call.folder;
  const services = { ...servicesFor?.(call, signal), ...ofFolder };
  const outputsFolder = options.outputsFolder(scope);
  const isTainted = isFromOutside(untrusted);
  const at = { workingFolder, outputsFolder, scope, conversationId, turnId, requester, isTainted, givenAddresses };
  const context: PluginContext = { ...loaded.home, ...at, ...services, signal };
  if ("start" in plugin) {
    const realFolder = await realpath(call.scope.workingFolder);
    const { tool, input, folder } = call;
    const returned = await plugin.execute({ tool, input, context, services, realFolder, folder });
    return withPathsInside(returned, realFolder);
  }
  return guard.run(call.skill.name, async () => plugin.execute(call.tool, call.input, context));
}

/** A process sees the working folder where it really is; here it may be a view's. Both know what is below it. */
function withPathsInside(returned: unknown, realFolder: string): unknown {
  if (typeof returned !== "object" || returned === null || !("files" in returned) || !Array.isArray(returned.files))
    return returned;
  const files = (returned.files as unknown[]).map((file) => {
    if (typeof file !== "object" || file === null || !("path" in file) || typeof file.path !== "string") return file;
    return isInside(file.path, realFolder) ? { name: file.path, ...file, path: relative(realFolder, file.path) } : file;
  });
  return { ...returned, files };
}

/** The result, or a rejection at the abort; what the work does after that is nobody's concern any more. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

async function destroy({ skill, ready }: Loaded, guard: PluginGuard, log: Log): Promise<void> {
  try {
    const plugin = await ready;
    await guard.run(skill.name, async () => await plugin.destroy?.());
  } catch (thrown) {
    log.warn({ skill: skill.name, error: messageOf(thrown) }, "a plugin failed while it was ended");
  }
}
