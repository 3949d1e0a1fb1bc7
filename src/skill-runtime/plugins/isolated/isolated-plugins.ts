/**
 * Runs plugins that did not come with Remora in their own processes, with the permissions that their SKILL.md declares.
 * Calls without a draft share a process that sees the real working folder read-only, if at all. A call with a draft
 * gets its own process in the view of that call if the skill declares files or commands. Idle processes end.
 */
import type { PluginHome } from "../../../ports/plugin.ts";
import type { ViewMount } from "../../../ports/sandbox.ts";
import type { Skill } from "../../../ports/skill.ts";
import { usesFolder } from "../../parse/permissions.ts";
import { beforeStart } from "../failure.ts";
import { codeVersion } from "./code-version.ts";
import type { PluginProcess } from "./plugin-process.ts";
import { createProcessStarter, type IsolatedCall, type ProcessStarterOptions } from "./process-starter.ts";
import { servicesAllowed } from "./services.ts";

export interface IsolatedPluginsOptions extends ProcessStarterOptions {
  maxIdleMs?: number;
}

export interface IsolatedPlugin {
  execute(call: IsolatedCall): Promise<unknown>;
  start(): Promise<void>;
  /** Ends the plugin's processes. Shared processes run the plugin's `destroy` first. */
  destroy(): Promise<void>;
}

export interface IsolatedPlugins {
  /** The version changes with any code file of the skill. Rejects if the plugin does not exist. */
  versionOf(skill: Skill, path: string): Promise<string>;
  load(skill: Skill, home: PluginHome): IsolatedPlugin;
  /** Returns the folders that a draft's view must contain so that the plugin can run in it. */
  mountsFor(skill: Skill, dataFolder: string): Promise<ViewMount[]>;
  close(): Promise<void>;
}

const defaultMaxIdleMs = 10 * 60_000;
const maxKeptProcesses = 20;

interface Kept {
  process: Promise<PluginProcess>;
  end(): Promise<void>;
  idle: NodeJS.Timeout | undefined;
  usedAt: number;
  calls: number;
}

export function createIsolatedPlugins(options: IsolatedPluginsOptions): IsolatedPlugins {
  const { maxIdleMs = defaultMaxIdleMs } = options;
  const closed = new AbortController();
  const starter = createProcessStarter(options, closed.signal);
  const allKept = new Set<Kept>();

  function load(skill: Skill, home: PluginHome): IsolatedPlugin {
    const isInFolder = usesFolder(skill.permissions);
    /** By working folder. Calls without a folder use the empty key. */
    const byFolder = new Map<string, Kept>();

    const letGo = (key: string, kept: Kept) => {
      if (byFolder.get(key) === kept) byFolder.delete(key);
      clearTimeout(kept.idle);
      allKept.delete(kept);
    };
    const take = (key: string): Kept => {
      const known = byFolder.get(key);
      if (known !== undefined) return known;
      const process = starter.startKept(skill, home, key === "" ? undefined : key);
      const end = async () => {
        letGo(key, kept);
        await process.then((started) => started.end()).catch(() => {});
      };
      const kept: Kept = { process, end, idle: undefined, usedAt: Date.now(), calls: 0 };
      byFolder.set(key, kept);
      allKept.add(kept);
      process
        .then((started) => started.gone)
        .then(
          () => letGo(key, kept),
          () => letGo(key, kept),
        );
      makeRoom(kept);
      return kept;
    };

    const takeResponsive = async (key: string): Promise<Kept> => {
      const kept = take(key);
      const process = await kept.process;
      const isResponsive = await process.responsive().then(
        () => true,
        () => false,
      );
      if (isResponsive && byFolder.get(key) === kept) return kept;
      letGo(key, kept);
      return take(key);
    };

    return {
      async start() {
        await take("").process;
      },
      async execute(call) {
        const { runInside } = call.folder;
        const allowed = { ...call, services: servicesAllowed(call.services, skill.permissions) };
        if (isInFolder && runInside !== undefined) return await starter.runInView(skill, home, allowed, runInside);
        const key = isInFolder ? call.realFolder : "";
        const kept = await beforeStart(takeResponsive(key));
        kept.calls += 1;
        clearTimeout(kept.idle);
        try {
          const process = await beforeStart(kept.process);
          const context = { ...call.context, workingFolder: call.realFolder };
          return await process.execute(call.tool, call.input, context, allowed.services);
        } finally {
          kept.calls -= 1;
          kept.usedAt = Date.now();
          // A process that offers tools must keep running, so it has no idle timeout.
          if (kept.calls === 0 && !skill.providesTools)
            kept.idle = setTimeout(() => void kept.end(), maxIdleMs).unref();
        }
      },
      async destroy() {
        await Promise.all([...byFolder.values()].map((kept) => kept.end()));
      },
    };
  }

  function makeRoom(newest: Kept): void {
    if (allKept.size <= maxKeptProcesses) return;
    const idle = [...allKept].filter((kept) => kept !== newest && kept.calls === 0);
    void idle.sort((one, other) => one.usedAt - other.usedAt)[0]?.end();
  }

  return {
    load,
    mountsFor: starter.mountsFor,
    versionOf: (skill, path) => codeVersion(path, skill.folder),
    async close() {
      closed.abort();
      await starter.close();
    },
  };
}
