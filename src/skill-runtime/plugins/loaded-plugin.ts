/** Loads one version of a plugin, runs its `init`, and destroys it. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { JsonObject, Scope } from "../../ports/message.ts";
import type { Plugin, PluginHome, PluginServices, ToolOffer } from "../../ports/plugin.ts";
import type { Skill } from "../../ports/skill.ts";
import type { ScalePicture } from "../../ports/tool.ts";
import type { IsolatedPlugin, IsolatedPlugins } from "./isolated/isolated-plugins.ts";
import type { PluginGuard } from "./plugin-guard.ts";
import type { PluginModules } from "./plugin-modules.ts";
import type { BoundCall } from "./plugin-services.ts";
import { asPlugin } from "./plugin-shape.ts";

export type ServicesFor = (call: BoundCall, signal: AbortSignal) => PluginServices;

export interface PluginHostOptions {
  workspace: string;
  /** Contains the data folders of all skills. */
  dataFolder: string;
  outputsFolder(scope: Scope): string;
  outbox: string;
  settings: { [skill: string]: JsonObject };
  servicesFor: ServicesFor | undefined;
  onOffer(skill: Skill, source: string, offer: ToolOffer): void;
  guard: PluginGuard;
  isolated?: IsolatedPlugins;
  isIsolated(skill: Skill): boolean;
  /** If absent, results have no pictures. */
  scalePicture?: ScalePicture;
  log: Log;
}

export interface LoadedPlugin {
  skill: Skill;
  version: string;
  home: PluginHome;
  ready: Promise<Plugin | IsolatedPlugin>;
  running: number;
  isRetired: boolean;
  ended: Promise<void> | undefined;
}

export function isolatedFor(skill: Skill, { isolated, isIsolated }: PluginHostOptions): IsolatedPlugins | undefined {
  return isIsolated(skill) ? isolated : undefined;
}

export function loadPlugin(
  skill: Skill,
  path: string,
  version: string,
  options: PluginHostOptions,
  modules: PluginModules,
): LoadedPlugin {
  const { workspace, guard, settings } = options;
  const offer: PluginHome["offer"] = (source, offered) => {
    if (!loaded.isRetired) options.onOffer(skill, source, offered);
  };
  const home: PluginHome = {
    workspace,
    skillFolder: skill.folder,
    dataFolder: join(options.dataFolder, dataFolderName(skill)),
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
  const loaded: LoadedPlugin = { skill, version, home, ready, running: 0, isRetired: false, ended: undefined };
  return loaded;
}

/** The name never starts with a dot. */
export function dataFolderName({ name }: Skill): string {
  return encodeURIComponent(name).replace(/^\.+/, "_");
}

export async function destroyPlugin({ skill, ready }: LoadedPlugin, guard: PluginGuard, log: Log): Promise<void> {
  try {
    const plugin = await ready;
    await guard.run(skill.name, async () => await plugin.destroy?.());
  } catch (thrown) {
    log.warn({ skill: skill.name, error: messageOf(thrown) }, "a plugin failed while it was being ended");
  }
}
