/** The plugin process port: where the code of a skill that did not come with Remora runs, with what its SKILL.md declares. */
import type { Readable } from "node:stream";

export interface PluginProgram {
  skill: string;
  /** For node: flags, a script, and what the script reads. */
  args: readonly string[];
  /** All of its environment, besides what every program needs. */
  env: Readonly<Record<string, string>>;
  mounts: readonly { from: string; at: string; isWritable: boolean }[];
  /** Hosts that it may reach, written as in a shell call. Empty: no network. */
  network: readonly string[];
}

export interface RunningPlugin {
  /** What it writes to standard output and standard error. Must be read. */
  output: Readable;
  /** Never rejects. Resolves when nothing of it runs any more. */
  ended: Promise<void>;
  kill(): void;
}

export interface PluginLauncher {
  /** False without a sandbox: Node's permission model limits files, processes and addons; nothing limits the network. */
  isConfined: boolean;
  node: string;
  /** Rejects with a RemoraError that says why it can't be started. */
  start(program: PluginProgram, signal: AbortSignal): Promise<RunningPlugin>;
}
