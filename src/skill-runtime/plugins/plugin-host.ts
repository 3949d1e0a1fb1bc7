/**
 * Runs the code of skills. Plugins that did not come with Remora run in their own processes (isolated/). An abort ends
 * the wait, whatever the plugin does. A replaced or removed plugin is destroyed once, after its last running call. Must
 * not throw.
 */
import { join } from "node:path";
import { pause } from "../../lib/backoff.ts";
import { fileNameOf } from "../../lib/file-name.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { ViewMount } from "../../ports/sandbox.ts";
import type { Skill } from "../../ports/skill.ts";
import type { ScalePicture, ToolAttempt } from "../../ports/tool.ts";
import { attemptOf, beforeStart, failed, refused } from "./failure.ts";
import {
  dataFolderName,
  destroyPlugin,
  isolatedFor,
  type LoadedPlugin,
  loadPlugin,
  type PluginHostOptions,
} from "./loaded-plugin.ts";
import { executeCall, type PluginCall } from "./plugin-call.ts";
import { createPluginModules } from "./plugin-modules.ts";
import { readResult } from "./plugin-result.ts";

export interface PluginHost {
  run(call: PluginCall, signal: AbortSignal): Promise<ToolAttempt>;
  /** Loads the plugin if it is new or changed. A failure rejects once; then it resolves to false until a change. */
  start(skill: Skill): Promise<boolean>;
  mountsFor(skill: Skill): Promise<ViewMount[]>;
  keepOnly(skills: Skill[]): void;
  close(): Promise<void>;
}

const maxCloseMs = 2_000;

const withoutPictures: ScalePicture = async () => ({ type: "problem", message: "Pictures can't be read here." });

export function createPluginHost(options: PluginHostOptions): PluginHost {
  const { guard, log } = options;
  const inForce = new Map<string, LoadedPlugin>();
  const all = new Set<LoadedPlugin>();
  const modules = createPluginModules();
  const broken = new Map<string, string>();
  let isClosing = false;

  const end = (loaded: LoadedPlugin) => {
    loaded.ended ??= destroyPlugin(loaded, guard, log).finally(() => all.delete(loaded));
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
  const take = (skill: Skill, path: string, version: string): LoadedPlugin => {
    const known = inForce.get(path);
    if (known?.version === version) return known;
    retire(path);
    const loaded = loadPlugin(skill, path, version, options, modules);
    inForce.set(path, loaded);
    all.add(loaded);
    // Forget a failed load so that the next call tries again.
    loaded.ready.catch(() => {
      if (inForce.get(path) === loaded) inForce.delete(path);
      all.delete(loaded);
    });
    return loaded;
  };
  const release = (loaded: LoadedPlugin) => {
    loaded.running -= 1;
    if (loaded.isRetired && loaded.running === 0) void end(loaded);
  };

  return {
    async run(call, signal) {
      const { skill, tool } = call;
      const place = `The tool ${tool} of the skill ${skill.name}`;
      if (skill.plugin === null)
        return refused(`${place} can't run: the skill has no plugin.ts, plugin.js or plugin.mjs.`);
      try {
        const loaded = take(skill, skill.plugin, await beforeStart(versionOf(skill, skill.plugin)));
        loaded.running += 1;
        const work = executeCall(loaded, call, options, signal).finally(() => release(loaded));
        const returned = await untilAborted(work, signal);
        const { dataFolder } = loaded.home;
        const outbox = join(options.outbox, fileNameOf(`${call.scope.turnId}-${call.id}`));
        // A plugin without file access must not make Remora read files by returning their names.
        const isBlind = isolatedFor(skill, options) !== undefined && skill.permissions.files === "none";
        const workingFolder = isBlind ? dataFolder : call.folder.path;
        const places = { workingFolder, dataFolder, outbox };
        return await readResult(returned, place, places, options.scalePicture ?? withoutPictures, signal);
      } catch (thrown) {
        if (signal.aborted)
          return failed(`${place} was stopped before it finished. It may or may not have taken effect.`);
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
      (await options.isolated?.mountsFor(skill, join(options.dataFolder, dataFolderName(skill)))) ?? [],
    keepOnly(skills) {
      const paths = new Set(skills.map(({ plugin }) => plugin));
      for (const path of [...inForce.keys()]) if (!paths.has(path)) retire(path);
    },
    async close() {
      isClosing = true;
      for (const path of [...inForce.keys()]) retire(path);
      const timeUp = new AbortController();
      const idle = Promise.all([...all].map((loaded) => loaded.ended));
      await Promise.race([idle, pause(maxCloseMs, timeUp.signal)]);
      await Promise.race([Promise.all([...all].map(end)), pause(maxCloseMs, timeUp.signal)]);
      timeUp.abort();
      modules.close();
      await options.isolated?.close();
    },
  };
}
