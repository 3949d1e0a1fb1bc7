/** The plugin process port: where the code of a skill that did not come with Remora runs, with what its SKILL.md declares. */
import type { Readable } from "node:stream";

/** A Node program. */
export interface PluginProgram {
  /** Whose plugin it is. */
  skill: string;
  /** For node: flags, a script, and what the script reads. */
  args: readonly string[];
  /** All of its environment, besides what every program needs. */
  env: Readonly<Record<string, string>>;
  /** Folders that it may open, and where they are inside. */
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
  /**
   * False where no sandbox works: then Node's permission model alone limits files, processes and addons; nothing limits
   * the network, and mounts are where they lie here.
   */
  isConfined: boolean;
  /** Node, as the program sees it. */
  node: string;
  /** Rejects with a RemoraError that says why it can't be started. */
  start(program: PluginProgram, signal: AbortSignal): Promise<RunningPlugin>;
}
