/**
 * The sandbox runs each command in a **view**: Linux namespaces in which writes never reach the real folder. Other
 * files are visible only if they are on an allowlist. A command has no network, no privileges and limited resources.
 */
import type { Readable } from "node:stream";

export interface SandboxReport {
  holds: boolean;
  /** `overlay` if the kernel keeps writes apart, otherwise `copy` (with a size limit). Meaningless unless `holds`. */
  layers: "overlay" | "copy";
  /** Says what the probe found and, if a command could break out, what to do. */
  detail: string;
}

export interface Sandbox {
  /** Probes once and remembers the result. Never rejects. */
  probe(): Promise<SandboxReport>;
  /** False if the folder would have to be copied but is too large. Never rejects. */
  fits(folder: string): Promise<boolean>;
  /** Rejects with `sandbox.missing`, `sandbox.folder-too-large`, or Node's own error for a missing folder. */
  open(options: ViewOptions, signal: AbortSignal): Promise<View>;
  close(): Promise<void>;
}

export interface ViewMount {
  from: string;
  at: string;
  /** Writes go directly to the real folder, and programs can connect to sockets in it. */
  isWritable?: boolean;
}

export interface ViewOptions {
  /** Absolute and without links. The view shows it at the same path. */
  folder: string;
  /** Topmost first, in the format of an overlay's upper folder. */
  layers: readonly string[];
  /** An empty folder for the view's writes, on the same file system as the layers. */
  scratch: string;
  /** Folders that commands may read besides the system's. Missing ones are skipped. */
  readable?: readonly string[];
  mounts?: readonly ViewMount[];
}

export interface View {
  /** The working folder as the view sees it, until `close`. Open it; never resolve it with `realpath`. */
  merged: string;
  /** The writes, in the format of an overlay's upper folder, even after `close`. Undefined if the folder was copied. */
  upper: string | undefined;
  /** A process in the view's namespaces, for nsenter. Valid until `close`. */
  pid: number;
  /** Runs one command with bash (or sh), at most once per view. No process in the view outlives the command. */
  start(command: ViewCommand): RunningCommand;
  /** Ends everything in the view and removes the view. Never rejects; may be called again. */
  close(): Promise<void>;
}

export interface ViewCommand {
  text: string;
  env?: Readonly<Record<string, string>>;
}

export type CommandLimit = "memory" | "processes" | "processor-time" | "disk-space" | "files" | "output";

export interface CommandEnd {
  exitCode?: number;
  signal?: string;
  limit?: CommandLimit;
  /** One sentence for the model; empty after exit code 0. */
  message: string;
  hint?: string;
}

export interface RunningCommand {
  /** Standard output and standard error, in the order in which they were written. Must be read. */
  output: Readable;
  /** Never rejects. Resolves when all processes of the command have ended and the output has been read completely. */
  ended: Promise<CommandEnd>;
  kill(): void;
}

export interface ViewLimits {
  maxMemoryBytes: number;
  maxProcesses: number;
  maxProcessorSeconds: number;
  maxFileBytes: number;
  maxLayerBytes: number;
  maxLayerFiles: number;
  maxTmpBytes: number;
}
