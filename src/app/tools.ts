/** Builds the plugins, the queue that runs their calls, and the task files, which describe what was done. */
import { join } from "node:path";
import { toolboxSettings } from "../config/derive.ts";
import type { Author } from "../ports/message.ts";
import type { Toolbox, ToolQueue, ToolScope } from "../ports/tool.ts";
import { createIsolatedPlugins } from "../skill-runtime/plugins/isolated/isolated-plugins.ts";
import type { createPluginServices } from "../skill-runtime/plugins/plugin-services.ts";
import { createToolbox, type SkillToolbox } from "../skill-runtime/toolbox.ts";
import { createEmbeddedQueue, type EmbeddedQueueOptions } from "../tool-queue/embedded/queue.ts";
import { createTaskFiles, type StoredTaskFiles } from "../tool-queue/task-files/task-file.ts";
import type { Late } from "./late.ts";
import { type AppOptions, takesTurns } from "./options.ts";
import type { SandboxParts } from "./sandbox.ts";
import type { Skills } from "./skills.ts";
import type { State } from "./state.ts";

export interface Tools {
  toolbox: Toolbox & Pick<SkillToolbox, "skillsFor" | "isAllowed" | "applySwitches">;
  queue: ToolQueue;
  taskFiles: StoredTaskFiles;
  isOwnersCall(scope: ToolScope): Promise<boolean>;
  close(): Promise<void>;
}

export type PluginServicesOfCall = ReturnType<typeof createPluginServices>;

export interface ToolsParts {
  sandbox: SandboxParts;
  skills: Skills;
  toolbox: Late<Toolbox>;
  services: Late<PluginServicesOfCall>;
  isOwner(platform: string, person: Author): boolean;
}

export async function buildTools(options: AppOptions, state: State, parts: ToolsParts): Promise<Tools> {
  const { settings, redact, log } = options;
  const { ledger, events, audit, wrap } = state;
  const { sandbox, skills, services, isOwner } = parts;
  const { config, workspace, data } = settings;

  async function isOwnersCall({ turnId, requester }: ToolScope): Promise<boolean> {
    const turn = await ledger.get("turn", turnId);
    return turn !== undefined && isOwner(turn.body.target.platform, requester);
  }

  const access = toolboxSettings(settings);
  const toolbox = createToolbox({
    library: skills.library,
    ...{ workspace, redact, log },
    filesRoot: join(workspace, "files"),
    dataFolder: join(data, "skills"),
    config: access,
    drafts: sandbox.drafts,
    outputsFolder: sandbox.outputsFolder,
    isolated: createIsolatedPlugins({ launcher: sandbox.pluginLauncher, env: settings.env, log }),
    isIsolated: skills.isIsolated,
    isOn: skills.switches.isOn,
    scalePicture: async (source, signal) =>
      await (await import("../plugin-sdk/documents/scale-picture.ts")).scalePicture(source, signal),
    noteUse: skills.noteUse,
    servicesFor: (call, signal) => services.get()(call, signal),
    // Only owners (if there are any) may write skills, because a new skill becomes active for everybody.
    mayWriteSkills: async (scope) => config.safety.owners.length === 0 || (await isOwnersCall(scope)),
  });
  state.live.onApplied(() => {
    delete access.allow;
    Object.assign(access, toolboxSettings(settings));
    toolbox.applySwitches();
  });
  const wrapped = wrap("toolbox", toolbox);
  parts.toolbox.set(wrapped);
  const queue = await createQueue(options, state, {
    ...{ ledger, events, audit, ephemeral: state.ephemeral, redact, log },
    toolbox: wrapped,
    backoff: config.tools.retryMs,
    concurrency: config.tools.concurrency,
    outputLimit: config.tools.outputCharacters,
    outputsFolder: sandbox.outputsFolder,
    fileOrigins: sandbox.fileOrigins,
  });

  return {
    ...{ queue, isOwnersCall },
    toolbox: {
      ...wrapped,
      skillsFor: toolbox.skillsFor,
      isAllowed: toolbox.isAllowed,
      applySwitches: toolbox.applySwitches,
    },
    taskFiles: createTaskFiles({ workspace, redact, log }),
    async close() {
      await queue.close();
      await toolbox.close();
    },
  };
}

async function createQueue(
  { role, settings }: AppOptions,
  { redis, bus }: State,
  options: EmbeddedQueueOptions,
): Promise<ToolQueue> {
  if (redis === undefined) return createEmbeddedQueue(options);
  const { createBullQueue } = await import("../tool-queue/bullmq/queue.ts");
  const { lockMs } = settings.config.redis;
  return createBullQueue({
    ...options,
    connect: redis.connection.forBullMq,
    prefix: redis.prefix,
    bus,
    runs: takesTurns(role),
    timing: { lockMs },
  });
}
