/** Runs the code of skills that are not part of Remora, with the permissions that their SKILL.md declares. */
import type { Readable } from "node:stream";

export interface PluginProgram {
  skill: string;
  args: readonly string[];
  /** The process gets these variables and the few that every program needs, but no others. */
  env: Readonly<Record<string, string>>;
  mounts: readonly { from: string; at: string; isWritable: boolean }[];
  /** Hosts, in the syntax of a shell call. If empty, the process has no network. */
  network: readonly string[];
}

export interface RunningPlugin {
  /** Standard output and standard error. Must be read. */
  output: Readable;
  /** Never rejects. Resolves when neither the program nor anything that it started is running. */
  ended: Promise<void>;
  kill(): void;
}

export interface PluginLauncher {
  /** If false, Node's permission model limits files, processes and addons, but nothing limits the network. */
  isConfined: boolean;
  node: string;
  start(program: PluginProgram, signal: AbortSignal): Promise<RunningPlugin>;
}
