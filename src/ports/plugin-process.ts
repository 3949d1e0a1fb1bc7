/**
 * The plugin process port runs the code of skills that did not come with Remora, with the permissions that their SKILL.md
 * declares.
 */
import type { Readable } from "node:stream";

export interface PluginProgram {
  skill: string;
  /** Arguments of node: flags, a script, and the script's own arguments. */
  args: readonly string[];
  /** All environment variables of the process, besides those that every program needs. */
  env: Readonly<Record<string, string>>;
  mounts: readonly { from: string; at: string; isWritable: boolean }[];
  /** Hosts that the process may reach, in the syntax of a shell call. If empty, it has no network. */
  network: readonly string[];
}

export interface RunningPlugin {
  /** What the process writes to standard output and standard error. Must be read. */
  output: Readable;
  /** Never rejects. Resolves when neither the program nor anything that it started runs any more. */
  ended: Promise<void>;
  kill(): void;
}

export interface PluginLauncher {
  /** False without a sandbox. Then Node's permission model limits files, processes and addons, but nothing limits the network. */
  isConfined: boolean;
  node: string;
  /** Rejects with a RemoraError that says why the program can't be started. */
  start(program: PluginProgram, signal: AbortSignal): Promise<RunningPlugin>;
}
