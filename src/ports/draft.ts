/**
 * Drafts: what a turn does to its working folder, until it is kept or discarded.
 *
 * A draft belongs to one conversation and one folder, like a branch. Each call that may write works on a layer of its own
 * over the draft; the layer joins the draft when the call has ended, and is lost when the call was cut off. The real folder
 * changes only when the draft is kept: all or nothing, and exactly what was shown.
 */
import type { AnswerReceipt, Author, Scope } from "./message.ts";
import type { RunningCommand, ViewMount } from "./sandbox.ts";
import type { FolderUse, ToolAttempt, ToolScope } from "./tool.ts";
import type { TurnRecord } from "./turn.ts";

/** `open` until a person or the rules have decided. */
export type DraftState = "open" | "kept" | "discarded";

/** Plain JSON: a ledger entry, grouped by conversation. Its layer is on disk, in a folder named after its id. */
export interface DraftRecord {
  id: string;
  platform: string;
  conversationId: string;
  scope: Scope;
  /** The real folder, absolute and free of links. */
  folder: string;
  /** `own`: the conversation's, below the workspace. `given`: a folder that the configuration names. */
  kind: "own" | "given";
  /** Turns that wrote to it, oldest first. */
  turnIds: string[];
  createdAt: number;
  /** When a call joined it last. */
  changedAt: number;
  /** The approval of the card that stands for it; a newer card replaces it. */
  approvalId?: string;
  /** `changedAt` as that card showed it. */
  askedAt?: number;
  /** How it ended, for the conversation's next turn. */
  ending?: string;
  /** The turn that was told of the ending. */
  toldIn?: string;
  /** With `kept`: the entry of the undo journal. */
  undoId?: string;
  /** Somebody is taking it back; a crash may have come before the card says so. */
  undoing?: { approvalId: string; by: string };
}

/** The folder as one call sees it. */
export interface CallFolder {
  /**
   * Where to open it: the real folder, or the draft over it. Good until the call has ended. Open it and go on from the open
   * folder; never resolve it with `realpath`.
   */
  path: string;
  /** Runs commands in it; absent unless the call may write. */
  commands?: PluginCommands;
  /** Absent unless `path` is in a view: runs a program there, instead of a command. At most one of both for a call. */
  runInside?(text: string, env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RunningCommand>;
  /** Jobs of the conversation that were started before. */
  jobs?: PluginJobs;
}

/** How the shell skill runs commands. */
export interface PluginCommands {
  /**
   * At most one for a call. What it changed joins the draft when the call ends; nothing of it does when it was killed or
   * went over a limit.
   */
  run(text: string, signal: AbortSignal): Promise<RunningCommand>;
  /**
   * Starts a job over the draft as it is now. Rejects with code `jobs.too-many` and a sentence for the model at the limits per
   * conversation, person and process.
   */
  startJob(text: string): Promise<JobSummary>;
}

export interface JobSummary {
  id: string;
  command: string;
  /** `running for 12 s`, or how it ended. */
  state: string;
}

/** Commands in the background, of the conversation of the call. They end with the process. */
export interface PluginJobs {
  list(): JobSummary[];
  /** The end of what the job has written so far; undefined: no such job here. */
  read(id: string): Promise<{ job: JobSummary; output: string } | undefined>;
  stop(id: string): Promise<JobSummary | undefined>;
}

/** A call of a tool that may touch the working folder. */
export interface FolderCall {
  callId: string;
  tool: string;
  scope: ToolScope;
  use: FolderUse;
  /** Hosts that its commands may reach, as the call names them; a person has approved them. */
  network: readonly string[];
  /** Folders that its view shows besides. */
  mounts?: readonly ViewMount[];
  /** The path that the call names, when it names one and runs no command; what else it can read is not known. */
  path?: string;
  /** It names `/outputs`; other calls do not see the outputs. */
  usesOutputs: boolean;
}

/** How a turn came to its end; what is done with its draft depends on it. */
export type DraftEnd = "done" | "failed" | "stopped";

export interface Drafts {
  /**
   * Runs one attempt of a call with the folder that it is to see. A call whose changes have joined the draft before, as after
   * a crash, is not run again: its earlier attempt is returned.
   */
  runCall(
    call: FolderCall,
    signal: AbortSignal,
    work: (folder: CallFolder) => Promise<ToolAttempt>,
  ): Promise<ToolAttempt>;
  /** Decides what becomes of the turn's draft, and shows a card below the answer where there is something to show. */
  settle(turn: TurnRecord, end: DraftEnd): Promise<void>;
  /** A card about changes was answered or has expired: keeps or discards. Does nothing for other turns. */
  settleDecided(turnId: string): Promise<void>;
  /** What became of drafts since the conversation was told last, a sentence each. The turn counts as told from now on. */
  news(turn: TurnRecord): Promise<string[]>;
  /** What a call that sends something out would take along: paths that the conversation's open draft has changed. */
  changedPaths(conversationId: string): Promise<string[]>;
  /** Takes back the newest changes that were kept in the scope's conversations, where this person may. */
  undoNewest(scope: Scope, by: Author): Promise<AnswerReceipt>;
  /** Decides drafts whose moment was missed, ends old ones, and prunes the undo journal. */
  sweep(now: number): Promise<void>;
  /** At the start: completes or takes back what a crash cut off while it was kept or undone. */
  recover(): Promise<void>;
  /** Ends background jobs. */
  close(): Promise<void>;
}
