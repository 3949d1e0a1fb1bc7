/**
 * Drafts hold the changes of turns to their working folder. A draft belongs to one conversation and one folder. Each writing
 * call has its own layer, which joins the draft when the call ends, and is lost when the call was cut off. The real folder
 * changes only when the draft is kept: all or nothing, and exactly as shown.
 */
import type { AnswerReceipt, Author, Scope } from "./message.ts";
import type { RunningCommand, ViewMount } from "./sandbox.ts";
import type { FolderUse, ToolAttempt, ToolScope } from "./tool.ts";
import type { TurnRecord } from "./turn.ts";

export type DraftState = "open" | "kept" | "discarded";

/** A ledger entry, grouped by conversation. Its layer is on disk, in a folder named after its id. */
export interface DraftRecord {
  id: string;
  platform: string;
  conversationId: string;
  scope: Scope;
  /** The real folder: absolute, without links. */
  folder: string;
  /** `own`: the conversation's folder in the workspace. `given`: a configured folder. */
  kind: "own" | "given";
  /** Turns that wrote to it, oldest first. */
  turnIds: string[];
  createdAt: number;
  /** Last time a call's layer joined it. */
  changedAt: number;
  /** The approval of its newest card. */
  approvalId?: string;
  /** `changedAt` at the time of that card. */
  askedAt?: number;
  /** How it ended, as a note for the conversation's next turn. */
  ending?: string;
  /** The turn that got the note. */
  toldIn?: string;
  undoId?: string;
  /** An undo is running, or a crash interrupted it. */
  undoing?: { approvalId: string; by: string };
}

export interface CallFolder {
  /** The real folder, or the draft over it; valid until the call ends. Open it and work from there; never use `realpath`. */
  path: string;
  /** Runs commands in the folder. Absent unless the call may write. */
  commands?: PluginCommands;
  /** Runs a program in the view; absent without one. A call runs at most one command or program. */
  runInside?(text: string, env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RunningCommand>;
  jobs?: PluginJobs;
}

export interface PluginCommands {
  /** At most once per call. Its changes join the draft at the end, unless the command was killed or exceeded a limit. */
  run(text: string, signal: AbortSignal): Promise<RunningCommand>;
  /** Works over the present draft. Rejects with code `jobs.too-many` at the limits per conversation, person and process. */
  startJob(text: string): Promise<JobSummary>;
}

export interface JobSummary {
  id: string;
  command: string;
  /** `running for 12 s`, or how it ended. */
  state: string;
}

/** Background commands of the call's conversation. They end with the process. */
export interface PluginJobs {
  list(): JobSummary[];
  /** The end of the job's output so far; undefined: no such job here. */
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
  /** The call's path, when it names one and runs no command. */
  path?: string;
  /** The call names `/outputs`. Other calls don't see the outputs. */
  usesOutputs: boolean;
}

export type DraftEnd = "done" | "failed" | "stopped";

export interface Drafts {
  /** Runs one attempt. A call whose changes have joined the draft already, as after a crash, returns its earlier attempt. */
  runCall(
    call: FolderCall,
    signal: AbortSignal,
    work: (folder: CallFolder) => Promise<ToolAttempt>,
  ): Promise<ToolAttempt>;
  /** Decides about the turn's draft, and shows a card below the answer if there are changes. */
  settle(turn: TurnRecord, end: DraftEnd): Promise<void>;
  /** Keeps or discards changes after an answer or an expiry. Does nothing for other turns. */
  settleDecided(turnId: string): Promise<void>;
  /** News about drafts since the conversation's last turn, one sentence each. Marks them as told to this turn. */
  news(turn: TurnRecord): Promise<string[]>;
  /** Paths that the conversation's open draft has changed, which outward calls could carry along. */
  changedPaths(conversationId: string): Promise<string[]>;
  undoNewest(scope: Scope, by: Author): Promise<AnswerReceipt>;
  sweep(now: number): Promise<void>;
  /** At the start: completes or reverts a keep or an undo that a crash interrupted. */
  recover(): Promise<void>;
  close(): Promise<void>;
}
