/** Runs one call in a loaded plugin. */
import { realpath } from "node:fs/promises";
import { relative } from "node:path";
import { isInside } from "../../lib/is-inside.ts";
import type { CallFolder } from "../../ports/draft.ts";
import type { JsonObject } from "../../ports/message.ts";
import { isFromOutside } from "../../ports/origin.ts";
import type { PluginContext } from "../../ports/plugin.ts";
import type { Skill } from "../../ports/skill.ts";
import { beforeStart } from "./failure.ts";
import type { LoadedPlugin, PluginHostOptions } from "./loaded-plugin.ts";
import type { BoundCall } from "./plugin-services.ts";

export interface PluginCall extends BoundCall {
  skill: Skill;
  input: JsonObject;
  folder: CallFolder;
}

export async function executeCall(
  loaded: LoadedPlugin,
  call: PluginCall,
  options: PluginHostOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const { guard, servicesFor } = options;
  const plugin = await beforeStart(loaded.ready);
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

/** Makes paths relative, because an isolated process and a view may see the working folder at different paths. */
function withPathsInside(returned: unknown, realFolder: string): unknown {
  if (typeof returned !== "object" || returned === null) return returned;
  const inside = (file: unknown): unknown => {
    if (typeof file !== "object" || file === null || !("path" in file) || typeof file.path !== "string") return file;
    return isInside(file.path, realFolder) ? { name: file.path, ...file, path: relative(realFolder, file.path) } : file;
  };
  const insideAll = (files: unknown) => (Array.isArray(files) ? (files as unknown[]).map(inside) : files);
  return {
    ...returned,
    ...("files" in returned ? { files: insideAll(returned.files) } : {}),
    ...("images" in returned ? { images: insideAll(returned.images) } : {}),
  };
}
