/**
 * A draft collects a conversation's changes to one folder until people or rules decide about them. Each call writes to
 * its own layer, which is merged into the draft when the call ends and discarded if the call is interrupted. Keeping a
 * draft changes the real folder: all or nothing, and exactly as shown.
 */
import type { FileBinder } from "./bound-files.ts";
import type { AnswerReceipt, Author, Scope } from "./message.ts";
import type { RunningCommand, ViewMount } from "./sandbox.ts";
import type { FolderUse, ToolAttempt, ToolScope } from "./tool.ts";
import type { TurnRecord } from "./turn.ts";

export type DraftState = "open" | "kept" | "discarded";

/** A ledger entry, grouped by conversation. The draft's layer is on disk, in a folder named after the draft's id. */
export interface DraftRecord {
  id: string;
  platform: string;
  conversationId: string;
  scope: Scope;
  /** The real folder: absolute, without links. */
  folder: string;
  /** `own` is the conversation's folder in the workspace; `given` is a configured folder. */
  kind: "own" | "given";
  turnIds: string[];
  createdAt: number;
  /** When a call's layer was last merged into the draft. `askedAt` is its value at the time of the newest card. */
  changedAt: number;
  approvalId?: string;
  askedAt?: number;
  /** How the draft ended, as a note for the conversation's next turn. `toldIn` is the turn that got the note. */
  ending?: string;
  toldIn?: string;
  undoId?: string;
  /** An undo is running, or a crash interrupted it. */
  undoing?: { approvalId: string; by: string };
}

export interface CallFolder {
  /** Valid until the call ends. Open it and work from the open folder; never use `realpath`. */
  path: string;
  commands?: PluginCommands;
  /** Runs a program in the view. Absent if there is no view. A call runs at most one command or program. */
  runInside?(text: string, env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RunningCommand>;
  jobs?: PluginJobs;
}

export interface PluginCommands {
  /** Call only once per tool call. Merges the changes unless the command was killed or exceeded a limit. */
  run(text: string, signal: AbortSignal): Promise<RunningCommand>;
  /** Runs on a snapshot of the draft. Rejects with `jobs.too-many` at the limit per conversation, person or process. */
  startJob(text: string): Promise<JobSummary>;
}

export interface JobSummary {
  id: string;
  command: string;
  state: string;
}

/** Background commands of the call's conversation. They end when Remora's process exits. */
export interface PluginJobs {
  list(): JobSummary[];
  /** Returns the end of the job's output so far. */
  read(id: string): Promise<{ job: JobSummary; output: string } | undefined>;
  stop(id: string): Promise<JobSummary | undefined>;
}

export interface FolderCall {
  callId: string;
  tool: string;
  scope: ToolScope;
  use: FolderUse;
  /** Approved hosts that the call's commands may reach, as the call names them. */
  network: readonly string[];
  mounts?: readonly ViewMount[];
  /** The path that the call names. Absent if it names none or runs a command. */
  path?: string;
  /** True if the call names `/outputs`. Other calls don't see the outputs. */
  usesOutputs: boolean;
}

export type DraftEnd = "done" | "failed" | "stopped";

export interface Drafts extends FileBinder {
  /** Runs one attempt. If the call's changes were merged before a crash, returns the earlier attempt. */
  runCall(
    call: FolderCall,
    signal: AbortSignal,
    work: (folder: CallFolder) => Promise<ToolAttempt>,
  ): Promise<ToolAttempt>;
  /** Decides about the turn's draft. If there are changes, shows a card below the answer. */
  settle(turn: TurnRecord, end: DraftEnd): Promise<void>;
  /** Keeps or discards the turn's changes if people have answered or the approval has expired. */
  settleDecided(turnId: string): Promise<void>;
  /** Returns what has happened to drafts since the conversation's last turn. Records that this turn has been told. */
  news(turn: TurnRecord): Promise<string[]>;
  /** True if the conversation's open draft removed or replaced this folder, so its calls can't see files in it. */
  hides(conversationId: string, workingFolder: string, folder: string): Promise<boolean>;
  /** Lists the files changed by the conversation's open draft, because calls could send them out. */
  changedPaths(conversationId: string): Promise<string[]>;
  undoNewest(scope: Scope, by: Author): Promise<AnswerReceipt>;
  sweep(now: number): Promise<void>;
  /** Must be called at startup. Completes or reverts changes if a crash interrupted keeping or undoing them. */
  recover(): Promise<void>;
  close(): Promise<void>;
}
