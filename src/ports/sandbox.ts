/**
 * Where commands run. A **view** is a set of namespaces of its own. What a command writes never reaches the real folder; the
 * rest of the file system is an allow-list; there is no network, no privilege, and a limit on everything that runs.
 */
import type { Readable } from "node:stream";

/** What the probe found at start, by trying to break out. */
export interface SandboxReport {
  holds: boolean;
  /** `overlay`: the kernel keeps the layer. `copy`: the folder is copied, up to a size limit. Meaningless unless `holds`. */
  layers: "overlay" | "copy";
  /** One sentence for people: what was seen and, where the sandbox does not hold, what to do. */
  detail: string;
}

export interface Sandbox {
  /** Never rejects; tries once and remembers the answer. */
  probe(): Promise<SandboxReport>;
  /** False when the folder would have to be copied and is over the limit for that. Never rejects. */
  fits(folder: string): Promise<boolean>;
  /** Rejects with code `sandbox.missing` or `sandbox.folder-too-large`, or with Node's own error without the folder. */
  open(options: ViewOptions, signal: AbortSignal): Promise<View>;
  close(): Promise<void>;
}

export interface ViewMount {
  from: string;
  at: string;
  /** What is written goes straight to the real folder; sockets in it can be connected to. */
  isWritable?: boolean;
}

export interface ViewOptions {
  /** Absolute and free of links. It appears at the same path inside the view. */
  folder: string;
  /** Layers over the folder, topmost first; each is a folder in the form that `Layer` describes. May be empty. */
  layers: readonly string[];
  /** An empty folder of the caller, on the same file system as the layers. The view keeps what it writes there. */
  scratch: string;
  /** Folders outside the working folder that commands may read besides the system's own. Missing ones are left out. */
  readable?: readonly string[];
  /** Folders bound at another path inside, such as `/outputs`: read-only, unless they say that they are writable. */
  mounts?: readonly ViewMount[];
}

export interface View {
  /** The working folder as the view sees it, good until `close`. Open it and go on from there; never use `realpath`. */
  merged: string;
  /** What was written, as an overlay's upper folder; undefined where the folder was copied. Good after `close` too. */
  upper: string | undefined;
  /** A process in the view's namespaces, for nsenter; good until `close`. */
  pid: number;
  /** Runs one command with bash (or sh). When it has ended, nothing in the view runs any more. At most once per view. */
  start(command: ViewCommand): RunningCommand;
  /** Ends what runs and lets go of the view. Never rejects; may be called again. */
  close(): Promise<void>;
}

export interface ViewCommand {
  /** Shell text, without NUL. */
  text: string;
  env?: Readonly<Record<string, string>>;
}

export type CommandLimit = "memory" | "processes" | "processor-time" | "disk-space" | "files" | "output";

export interface CommandEnd {
  /** Absent when it was ended by a signal or did not start. */
  exitCode?: number;
  /** A signal that ended the command itself, such as SIGKILL. */
  signal?: string;
  limit?: CommandLimit;
  /** One sentence for the model; empty after exit code 0. */
  message: string;
  hint?: string;
}

export interface RunningCommand {
  /** Standard output and standard error as one, in the order in which they were written. Must be read. */
  output: Readable;
  /** Never rejects. Resolves when nothing of the command runs any more and its output has been read to the end. */
  ended: Promise<CommandEnd>;
  kill(): void;
}

/** The defaults are constants of `src/sandbox/view/limits.ts`. */
export interface ViewLimits {
  maxMemoryBytes: number;
  maxProcesses: number;
  maxProcessorSeconds: number;
  maxFileBytes: number;
  maxLayerBytes: number;
  maxLayerFiles: number;
  maxTmpBytes: number;
}
