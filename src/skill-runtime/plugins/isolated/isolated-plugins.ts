/**
 * Plugins that did not come with Remora, each in processes of its own with what its SKILL.md declares:
 *
 *   - a call that has nothing to do with a draft goes to a process that is started at its first use and kept for further
 *     calls. It sees its skill's folder and its data folder; if files are declared, the real working folder, read-only
 *   - a call over a draft, of a skill that declares files or commands, gets a process in the view of that very call, which
 *     ends with it
 *
 * A process that is idle is ended. A skill that has changed is a new plugin, and the processes of the old one end.
 */
import { hash } from "node:crypto";
import { type Dirent, realpathSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
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
import { usesFolder } from "../../parse/permissions.ts";
import { listenIn } from "./channel.ts";
import { openPluginProcess, type PluginProcess } from "./plugin-process.ts";
import { servicesAllowed, type UsedServices } from "./services.ts";

export interface IsolatedPluginsOptions {
  launcher: PluginLauncher;
  /** Values for `permissions.env`. */
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
  /** For tests. */
  maxIdleMs?: number;
}

export interface IsolatedCall {
  tool: string;
  input: JsonObject;
  context: PluginContext;
  services: UsedServices;
  /** The real working folder. */
  realFolder: string;
  folder: CallFolder;
}

export interface IsolatedPlugin {
  execute(call: IsolatedCall): Promise<unknown>;
  /** Starts a process without a call, for a plugin that offers tools. */
  start(): Promise<void>;
  /** Ends its processes; kept ones run `destroy` first. */
  destroy(): Promise<void>;
}

export interface IsolatedPlugins {
  /** Another one when a file of the skill's code has changed. Rejects when the plugin is not there. */
  versionOf(skill: Skill, path: string): Promise<string>;
  load(skill: Skill, home: PluginHome): IsolatedPlugin;
  /** Folders that the view of a call over a draft must show for a plugin to run in it. */
  mountsFor(skill: Skill, dataFolder: string): Promise<ViewMount[]>;
  close(): Promise<void>;
}

const defaultMaxIdleMs = 10 * 60_000;
const maxKeptProcesses = 20;
/** Of JavaScript objects; views limit the rest. */
const maxHeapMegabytes = 512;
const maxCodeFiles = 2_000;
const codeEnding = /\.(?:[cm]?[jt]s|json|wasm|node)$/;
const runnerFolder = realpathSync(fileURLToPath(new URL("../runner", import.meta.url)));
/** Where a view has the socket. */
const socketMount = "/run/remora-plugin";
const shell = "/bin/sh";

interface Kept {
  process: Promise<PluginProcess>;
  isBusy(): boolean;
  idle: NodeJS.Timeout | undefined;
  usedAt: number;
  calls: number;
}

export function createIsolatedPlugins(options: IsolatedPluginsOptions): IsolatedPlugins {
  const { launcher, env, log, maxIdleMs = defaultMaxIdleMs } = options;
  const closed = new AbortController();
  const allKept = new Set<{ kept: Kept; end(): void }>();
  let sockets: Promise<string> | undefined;

  /** Of one skill: only its processes see it. */
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

  /** `folder`: the working folder as the process sees it, where it may use one. */
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

  async function open(skill: Skill, home: PluginHome, isView: boolean, start: Start, signal: AbortSignal) {
    const folder = await socketFolder(skill);
    const listening = await listenIn(folder);
    try {
      const running = await start(join(isView ? socketMount : folder, listening.name));
      return await openPluginProcess({ skill, home, listening, running, shell, log }, signal);
    } catch (thrown) {
      listening.close();
      throw thrown;
    }
  }

  async function startKept(skill: Skill, home: PluginHome, realFolder: string | undefined): Promise<PluginProcess> {
    const mounts = await mountsFor(skill, home.dataFolder);
    if (realFolder !== undefined) mounts.push({ from: realFolder, at: realFolder, isWritable: false });
    // Without a sandbox there is no draft either, and what the call writes is written.
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
        closed.signal,
      );
    return await open(skill, home, launcher.isConfined, start, closed.signal);
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
    const process = await open(skill, home, true, start, context.signal);
    try {
      return await process.execute(tool, input, { ...context, workingFolder: realFolder }, services);
    } finally {
      await process.end();
    }
  }

  function load(skill: Skill, home: PluginHome): IsolatedPlugin {
    const isInFolder = usesFolder(skill.permissions);
    /** By working folder; empty: without one. */
    const byFolder = new Map<string, Kept>();

    const letGo = (key: string, kept: Kept) => {
      if (byFolder.get(key) === kept) byFolder.delete(key);
      clearTimeout(kept.idle);
      for (const entry of allKept) if (entry.kept === kept) allKept.delete(entry);
    };
    const end = async (key: string, kept: Kept) => {
      letGo(key, kept);
      await kept.process.then((process) => process.end()).catch(() => {});
    };
    const take = (key: string): Kept => {
      const known = byFolder.get(key);
      if (known !== undefined) return known;
      const process = startKept(skill, home, key === "" ? undefined : key);
      const kept: Kept = { process, isBusy: () => kept.calls > 0, idle: undefined, usedAt: Date.now(), calls: 0 };
      byFolder.set(key, kept);
      allKept.add({ kept, end: () => void end(key, kept) });
      process
        .then((started) => started.gone)
        .then(
          () => letGo(key, kept),
          () => letGo(key, kept),
        );
      makeRoom(kept);
      return kept;
    };

    /** One that is stuck ends soon; the call goes to the next one. */
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
        if (isInFolder && runInside !== undefined) return await runInView(skill, home, allowed, runInside);
        const key = isInFolder ? call.realFolder : "";
        const kept = await takeResponsive(key);
        kept.calls += 1;
        clearTimeout(kept.idle);
        try {
          const process = await kept.process;
          const context = { ...call.context, workingFolder: call.realFolder };
          return await process.execute(call.tool, call.input, context, allowed.services);
        } finally {
          kept.calls -= 1;
          kept.usedAt = Date.now();
          // One that offers tools has to be there.
          if (kept.calls === 0 && !skill.providesTools)
            kept.idle = setTimeout(() => void end(key, kept), maxIdleMs).unref();
        }
      },
      async destroy() {
        await Promise.all([...byFolder].map(([key, kept]) => end(key, kept)));
      },
    };
  }

  /** Ends the process that was idle for the longest time. */
  function makeRoom(newest: Kept): void {
    if (allKept.size <= maxKeptProcesses) return;
    const idle = [...allKept].filter(({ kept }) => kept !== newest && !kept.isBusy());
    idle.sort((one, other) => one.kept.usedAt - other.kept.usedAt)[0]?.end();
  }

  return {
    load,
    mountsFor,
    async versionOf(skill, path) {
      await stat(path);
      return hash("sha256", (await codeStamps(skill.folder)).join("\n")).slice(0, 16);
    },
    async close() {
      closed.abort();
      if (sockets !== undefined) await rm(await sockets, { recursive: true, force: true });
    },
  };
}

/** Of every file that may be code: path, size and time of change. */
async function codeStamps(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry: Dirent) => entry.isFile() && codeEnding.test(entry.name)).slice(0, maxCodeFiles);
  return await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      const { mtimeMs, size } = await stat(path);
      return `${path} ${size} ${mtimeMs}`;
    }),
  );
}
