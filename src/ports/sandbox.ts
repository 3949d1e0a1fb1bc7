/**
 * The sandbox port: where commands run, so that they can't do harm.
 *
 * A **view** is a set of namespaces of its own. In it, the working folder is a copy-on-write layer over the real one: what
 * a command writes never reaches the real folder. The rest of the file system is an allow-list; there is no network, no
 * privilege, and a limit on everything that runs.
 */
import type { Readable } from "node:stream";

/** What the probe found at start, by trying to break out. */
export interface SandboxReport {
  /** Views can be made, and they hold. */
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
  /**
   * Makes a view. Rejects with code `sandbox.missing` where none can be made, `sandbox.folder-too-large` where the folder
   * must be copied and is over the limit, and with Node's own error when the folder does not exist.
   */
  open(options: ViewOptions, signal: AbortSignal): Promise<View>;
  /** Ends every view. */
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
  /**
   * The working folder as the view sees it, as a path that this process can open: good until `close`. Never resolve it with
   * `realpath`; open it and go on from the open folder.
   */
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
  /** Added to the view's own small environment. */
  env?: Readonly<Record<string, string>>;
}

/** Why a command was ended before it came to its end. */
export type CommandLimit = "memory" | "processes" | "processor-time" | "disk-space" | "files" | "output";

export interface CommandEnd {
  /** Absent when it was ended by a signal or did not start. */
  exitCode?: number;
  /** A signal that ended the command itself, such as SIGKILL. */
  signal?: string;
  /** The limit that it went over. */
  limit?: CommandLimit;
  /** One sentence for the model; empty after exit code 0. */
  message: string;
  /** What the model can do about it, such as asking for network access. */
  hint?: string;
}

export interface RunningCommand {
  /** Standard output and standard error as one, in the order in which they were written. Must be read. */
  output: Readable;
  /** Never rejects. Resolves when nothing of the command runs any more and its output has been read to the end. */
  ended: Promise<CommandEnd>;
  kill(): void;
}

/** Limits of one view; the defaults are constants of `src/sandbox/limits.ts`. */
export interface ViewLimits {
  maxMemoryBytes: number;
  maxProcesses: number;
  maxProcessorSeconds: number;
  maxFileBytes: number;
  /** Bytes and files that the view may write into its layer. */
  maxLayerBytes: number;
  maxLayerFiles: number;
  maxTmpBytes: number;
}
