/**
 * The sandbox runs commands. Each command has a **view**: separate Linux namespaces, in which its writes never reach the real
 * folder. Of the other files it sees only an allow-list. It has no network and no privileges, and its resources are limited.
 */
import type { Readable } from "node:stream";

/** What the probe found at start, by trying to break out. */
export interface SandboxReport {
  holds: boolean;
  /**
   * `overlay` if the kernel separates the writes into a layer, `copy` if the folder is copied, up to a size limit. Meaningless
   * unless `holds`.
   */
  layers: "overlay" | "copy";
  /** One sentence for people: what was found and, if a command could break out, what to do. */
  detail: string;
}

export interface Sandbox {
  /** Probes once and remembers the result. Never rejects. */
  probe(): Promise<SandboxReport>;
  /** False if the folder would have to be copied and is too large for that. Never rejects. */
  fits(folder: string): Promise<boolean>;
  /** Rejects with code `sandbox.missing` or `sandbox.folder-too-large`, or with Node's own error if the folder does not exist. */
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
  /** Absolute and free of links. It appears at the same path inside the view. */
  folder: string;
  /** Layers over the folder, topmost first; each has the form of an overlay's upper folder. May be empty. */
  layers: readonly string[];
  /** An empty folder that the caller provides for the view's writes, on the same file system as the layers. */
  scratch: string;
  /**
   * Folders outside the working folder that commands may read, in addition to the system's folders. Missing folders are
   * skipped.
   */
  readable?: readonly string[];
  /** Folders mounted at another path in the view, such as `/outputs`. Read-only unless `isWritable`. */
  mounts?: readonly ViewMount[];
}

export interface View {
  /** The working folder as the view sees it, valid until `close`. Open it and work from the open folder; never use `realpath`. */
  merged: string;
  /** What was written, as an overlay's upper folder. Undefined if the folder was copied. Still valid after `close`. */
  upper: string | undefined;
  /** A process in the view's namespaces, for nsenter. Valid until `close`. */
  pid: number;
  /** Runs one command with bash (or sh). When it has ended, nothing in the view runs any more. At most once per view. */
  start(command: ViewCommand): RunningCommand;
  /** Ends everything in the view and removes the view. Never rejects; may be called again. */
  close(): Promise<void>;
}

export interface ViewCommand {
  /** Shell text, without NUL. */
  text: string;
  env?: Readonly<Record<string, string>>;
}

export type CommandLimit = "memory" | "processes" | "processor-time" | "disk-space" | "files" | "output";

export interface CommandEnd {
  /** Absent if the command was ended by a signal or did not start. */
  exitCode?: number;
  /** A signal that ended the command itself, such as SIGKILL. */
  signal?: string;
  limit?: CommandLimit;
  /** One sentence for the model; empty after exit code 0. */
  message: string;
  hint?: string;
}

export interface RunningCommand {
  /** Standard output and standard error combined, in the order in which they were written. Must be read. */
  output: Readable;
  /** Never rejects. Resolves when no process of the command runs any more and its output has been read to the end. */
  ended: Promise<CommandEnd>;
  kill(): void;
}

/** The defaults are constants in `src/sandbox/view/limits.ts`. */
export interface ViewLimits {
  maxMemoryBytes: number;
  maxProcesses: number;
  maxProcessorSeconds: number;
  maxFileBytes: number;
  maxLayerBytes: number;
  maxLayerFiles: number;
  maxTmpBytes: number;
}
