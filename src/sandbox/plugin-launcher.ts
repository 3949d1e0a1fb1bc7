/** Starts each plugin process in its own view. Without a sandbox, only Node's permission model confines it. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import type { Audit } from "../ports/audit.ts";
import type { PluginLauncher, PluginProgram, RunningPlugin } from "../ports/plugin-process.ts";
import type { Sandbox, ViewMount } from "../ports/sandbox.ts";
import { openSession, startInView } from "./draft/commands.ts";
import type { Egress } from "./egress/egress.ts";

export interface ViewLauncherOptions {
  sandbox: Sandbox;
  egress: Egress;
  audit: Audit;
  folder: string;
  nodeMount: ViewMount;
  node: string;
  environment: Readonly<Record<string, string>>;
}

export function createViewLauncher(options: ViewLauncherOptions): PluginLauncher {
  const { sandbox, nodeMount, node, environment } = options;
  return {
    isConfined: true,
    node,
    async start(program, signal) {
      await mkdir(options.folder, { recursive: true });
      const folder = await mkdtemp(join(options.folder, "plugin-"));
      const session = await openSession(options, program.network, { skill: program.skill }, signal);
      const release = async () => {
        await session?.close();
        await rm(folder, { recursive: true, force: true });
      };
      try {
        const places = { folder: join(folder, "work"), scratch: join(folder, "scratch"), layers: [] };
        await Promise.all([mkdir(places.folder), mkdir(places.scratch)]);
        const mounts = [nodeMount, ...program.mounts, ...(session?.mounts ?? [])];
        const view = await sandbox.open({ ...places, mounts }, signal);
        try {
          const env = { ...environment, ...program.env };
          const running = await startInView(
            { view, session, environment: env },
            commandLine(node, program.args),
            signal,
          );
          const ended = running.ended.then(async () => {
            await view.close();
            await release();
          });
          return { output: running.output, ended, kill: running.kill };
        } catch (thrown) {
          await view.close();
          throw thrown;
        }
      } catch (thrown) {
        await release();
        throw thrown;
      }
    },
  };
}

function commandLine(node: string, args: readonly string[]): string {
  return ["exec", ...[node, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)].join(" ");
}

export function createUnconfinedLauncher(): PluginLauncher {
  return {
    isConfined: false,
    node: process.execPath,
    start: async (program: PluginProgram): Promise<RunningPlugin> => {
      // With too many open files, this can't be loaded, and the process below does not start either.
      const marked = await import("../lib/marked-programs.ts")
        .then(({ markProgram }) => markProgram())
        .catch(() => undefined);
      const child = spawn(process.execPath, program.args, {
        cwd: "/",
        env: { PATH: process.env.PATH ?? "", ...program.env, ...marked?.variables },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const output = new PassThrough();
      const ended = new Promise<void>((resolve) => {
        child.once("error", () => resolve());
        child.once("close", () => resolve());
        // What it has left behind would keep its output open.
        child.once("exit", () => void marked?.end());
      }).then(() => void output.end());
      // With too many open files, Node sets neither.
      for (const stream of [child.stdout, child.stderr] as (Readable | undefined)[])
        stream?.pipe(output, { end: false });
      return { output, ended, kill: () => void child.kill("SIGKILL") };
    },
  };
}
