/** Starts isolated plugins with the Node permissions, environment variables and mounts that SKILL.md declares. */
import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Log } from "../../../lib/log.ts";
import type { CallFolder } from "../../../ports/draft.ts";
import type { JsonObject } from "../../../ports/message.ts";
import type { PluginContext, PluginHome } from "../../../ports/plugin.ts";
import type { PluginLauncher, RunningPlugin } from "../../../ports/plugin-process.ts";
import type { ViewMount } from "../../../ports/sandbox.ts";
import type { Skill } from "../../../ports/skill.ts";
import { beforeStart } from "../failure.ts";
import { listenIn } from "./channel.ts";
import { openPluginProcess, type PluginProcess } from "./plugin-process.ts";
import type { UsedServices } from "./services.ts";

export interface IsolatedCall {
  tool: string;
  input: JsonObject;
  context: PluginContext;
  services: UsedServices;
  realFolder: string;
  folder: CallFolder;
}

export interface ProcessStarterOptions {
  launcher: PluginLauncher;
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
}

export interface ProcessStarter {
  mountsFor(skill: Skill, dataFolder: string): Promise<(ViewMount & { isWritable: boolean })[]>;
  startKept(skill: Skill, home: PluginHome, realFolder: string | undefined): Promise<PluginProcess>;
  runInView(
    skill: Skill,
    home: PluginHome,
    call: IsolatedCall,
    run: NonNullable<CallFolder["runInside"]>,
  ): Promise<unknown>;
  close(): Promise<void>;
}

/** Limits only the JavaScript heap; the sandbox view limits the total memory of the process. */
const maxHeapMegabytes = 512;
const runnerFolder = realpathSync(fileURLToPath(new URL("../runner", import.meta.url)));
const socketMount = "/run/remora-plugin";
const shell = "/bin/sh";

export function createProcessStarter(
  { launcher, env, log }: ProcessStarterOptions,
  signal: AbortSignal,
): ProcessStarter {
  let sockets: Promise<string> | undefined;

  /** Only the processes of the skill see this folder. */
  async function socketFolder(skill: Skill): Promise<string> {
    sockets ??= mkdtemp(join(tmpdir(), "remora-plugins-"));
    const folder = join(await sockets, hash("sha256", skill.path).slice(0, 12));
    await mkdir(folder, { recursive: true });
    return folder;
  }

  async function mountsFor(skill: Skill, dataFolder: string): Promise<(ViewMount & { isWritable: boolean })[]> {
    await mkdir(dataFolder, { recursive: true });
    return [
      { from: runnerFolder, at: runnerFolder, isWritable: false },
      { from: skill.folder, at: skill.folder, isWritable: false },
      { from: dataFolder, at: dataFolder, isWritable: true },
      { from: await socketFolder(skill), at: socketMount, isWritable: true },
    ];
  }

  function variablesOf({ permissions }: Skill): Record<string, string> {
    const given = permissions.env.map((name) => [name, env[name]] as const);
    return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  function nodeArguments(
    skill: Skill,
    home: PluginHome,
    socket: string,
    folder?: { path: string; isWritable: boolean },
  ) {
    const { files, commands } = skill.permissions;
    const open = (flag: string, path: string) => [
      `--allow-fs-${flag}=${path}`,
      `--allow-fs-${flag}=${join(path, "*")}`,
    ];
    return [
      "--permission",
      `--max-old-space-size=${maxHeapMegabytes}`,
      ...[runnerFolder, skill.folder, home.dataFolder].flatMap((path) => open("read", path)),
      ...open("write", home.dataFolder),
      ...(folder === undefined || files === "none" ? [] : open("read", folder.path)),
      ...(folder?.isWritable === true && files === "write" ? open("write", folder.path) : []),
      ...(commands ? ["--allow-child-process"] : []),
      join(runnerFolder, "plugin-runner.mjs"),
      socket,
    ];
  }

  type Start = (socket: string) => Promise<RunningPlugin>;

  async function open(skill: Skill, home: PluginHome, isView: boolean, start: Start, abort: AbortSignal) {
    const folder = await socketFolder(skill);
    const listening = await listenIn(folder);
    try {
      const running = await start(join(isView ? socketMount : folder, listening.name));
      return await openPluginProcess({ skill, home, listening, running, shell, log }, abort);
    } catch (thrown) {
      listening.close();
      throw thrown;
    }
  }

  async function startKept(skill: Skill, home: PluginHome, realFolder: string | undefined): Promise<PluginProcess> {
    const mounts = await mountsFor(skill, home.dataFolder);
    if (realFolder !== undefined) mounts.push({ from: realFolder, at: realFolder, isWritable: false });
    // Without a sandbox there is no draft, so the call writes to the real folder.
    const folder = realFolder === undefined ? undefined : { path: realFolder, isWritable: !launcher.isConfined };
    const start: Start = async (socket) =>
      await launcher.start(
        {
          args: nodeArguments(skill, home, socket, folder),
          env: variablesOf(skill),
          mounts,
          skill: skill.name,
          network: skill.permissions.network,
        },
        signal,
      );
    return await open(skill, home, launcher.isConfined, start, signal);
  }

  async function runInView(
    skill: Skill,
    home: PluginHome,
    call: IsolatedCall,
    run: NonNullable<CallFolder["runInside"]>,
  ) {
    const { tool, input, context, services, realFolder } = call;
    const folder = { path: realFolder, isWritable: true };
    const start: Start = async (socket) => {
      const line = [launcher.node, ...nodeArguments(skill, home, socket, folder)];
      const text = `exec ${line.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ")}`;
      const running = await run(text, variablesOf(skill), context.signal);
      return { output: running.output, ended: running.ended.then(() => undefined), kill: running.kill };
    };
    const process = await beforeStart(open(skill, home, true, start, context.signal));
    try {
      return await process.execute(tool, input, { ...context, workingFolder: realFolder }, services);
    } finally {
      await process.end();
    }
  }

  return {
    mountsFor,
    startKept,
    runInView,
    async close() {
      if (sockets !== undefined) await rm(await sockets, { recursive: true, force: true });
    },
  };
}
