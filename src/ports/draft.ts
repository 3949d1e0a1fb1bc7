/**
 * A draft contains the changes that turns made to their working folder, until people or rules decide about them. It belongs to
 * one conversation and one folder. Each call that writes has its own layer (the files that it wrote), which is merged into the
 * draft when the call ends and discarded if the call is interrupted. The real folder changes only when the draft is kept: all
 * or nothing, and exactly as shown.
 */
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
  /** `own` is the conversation's folder in the workspace, `given` a configured folder. */
  kind: "own" | "given";
  /** Turns that wrote to the draft, oldest first. */
  turnIds: string[];
  createdAt: number;
  /** When a call's layer was last merged into the draft. */
  changedAt: number;
  /** Id of the approval on the draft's newest card. */
  approvalId?: string;
  /** The value of `changedAt` when that card was made. */
  askedAt?: number;
  /** How the draft ended, as a note for the conversation's next turn. */
  ending?: string;
  /** Id of the turn that got the note in `ending`. */
  toldIn?: string;
  undoId?: string;
  /** An undo is running, or a crash interrupted it. */
  undoing?: { approvalId: string; by: string };
}

export interface CallFolder {
  /**
   * The real folder, or a view of the draft over it. Valid until the call ends. Open it and work from the open folder; never
   * use `realpath`.
   */
  path: string;
  /** Runs commands in the folder. Absent unless the call may write. */
  commands?: PluginCommands;
  /** Runs a program in the view. Absent if there is no view. A call runs at most one command or program. */
  runInside?(text: string, env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RunningCommand>;
  jobs?: PluginJobs;
}

export interface PluginCommands {
  /**
   * Runs a command, at most once per call. Its changes are merged into the draft when it ends, unless it was killed or exceeded
   * a limit.
   */
  run(text: string, signal: AbortSignal): Promise<RunningCommand>;
  /**
   * Starts a background job over the current draft. Rejects with code `jobs.too-many` at the limits per conversation, person
   * and process.
   */
  startJob(text: string): Promise<JobSummary>;
}

export interface JobSummary {
  id: string;
  command: string;
  /** `running for 12 s`, or how it ended. */
  state: string;
}

/** Background commands of the call's conversation. They end when Remora's process ends. */
export interface PluginJobs {
  list(): JobSummary[];
  /** Reads the last part of the job's output so far. Undefined if this process has no such job. */
  read(id: string): Promise<{ job: JobSummary; output: string } | undefined>;
  stop(id: string): Promise<JobSummary | undefined>;
}

export interface FolderCall {
  callId: string;
  tool: string;
  scope: ToolScope;
  use: FolderUse;
  /** Approved hosts that its commands may reach, as the call names them. */
  network: readonly string[];
  mounts?: readonly ViewMount[];
  /** The call's path, if it names one and runs no command. */
  path?: string;
  /** True if the call names `/outputs`; other calls don't see the outputs. */
  usesOutputs: boolean;
}

export type DraftEnd = "done" | "failed" | "stopped";

export interface Drafts {
  /** Runs one attempt. If the call's changes are already in the draft, as after a crash, returns the earlier attempt. */
  runCall(
    call: FolderCall,
    signal: AbortSignal,
    work: (folder: CallFolder) => Promise<ToolAttempt>,
  ): Promise<ToolAttempt>;
  /** Decides about the turn's draft, and shows a card below the answer if there are changes. */
  settle(turn: TurnRecord, end: DraftEnd): Promise<void>;
  /** Keeps or discards the turn's changes after people answered or the approval expired. Does nothing before that. */
  settleDecided(turnId: string): Promise<void>;
  /** Says what happened to drafts since the conversation's last turn, one sentence each. Records that this turn got the news. */
  news(turn: TurnRecord): Promise<string[]>;
  /** Lists the paths that the conversation's open draft has changed. Calls that send something out could include these files. */
  changedPaths(conversationId: string): Promise<string[]>;
  undoNewest(scope: Scope, by: Author): Promise<AnswerReceipt>;
  sweep(now: number): Promise<void>;
  /** Must be called at start. Completes or reverts changes that a crash interrupted while they were kept or undone. */
  recover(): Promise<void>;
  close(): Promise<void>;
}
