/**
 * A **Toolbox** owns tools and makes one attempt at a call: it never throws and never retries. A **ToolQueue** runs a call as
 * a job: it starts the call at most once unless the tool is idempotent, and every request for the job gets the same result.
 */
import type { Author, JsonObject, Scope } from "./message.ts";

import type { Origin } from "./origin.ts";

export type JsonSchema = { [key: string]: unknown };

export interface ToolSpec {
  /** 1 to 64 characters of `A-Z a-z 0-9 _ -`, which every provider accepts. */
  name: string;
  description: string;
  /** A JSON Schema whose `type` is `object`. */
  parameters: JsonSchema;
  /** The skill that owns the tool; `remora` for built-in tools. */
  skill: string;
  /** Changes nothing anywhere, so it may run in parallel with other read-only calls of its step. */
  isReadOnly: boolean;
  /** Running it twice is the same as running it once, so any failure may be retried, even after a crash. */
  isIdempotent: boolean;
  /** Its results come from outside, so somebody else may have written them (`untrusted: true` in SKILL.md). */
  readsUntrusted: boolean;
  /** It can send something to a place where others read it (`outward: true` in SKILL.md). */
  isOutward: boolean;
  timeoutMs: number;
  /** What a call does with the working folder (`folder: read` or `write` in SKILL.md). */
  folder: FolderUse;
  /** The program or service that offers the tool, as named in the settings. Absent for tools of a SKILL.md. */
  offeredBy?: string;
  /** Parameters that contain a shell command (`format: shell` in SKILL.md), for the gate. */
  shellParameters: string[];
}

/** What the model asked for, parsed: `input` has already passed the tool's schema. */
export interface ToolCall {
  id: string;
  name: string;
  input: JsonObject;
}

/** For whom and where a call runs. Plain JSON, because it is stored with the job. */
export interface ToolScope {
  turnId: string;
  conversationId: string;
  scope: Scope;
  requester: Author;
  /** Absolute path; relative paths of shell and file tools start here. */
  workingFolder: string;
  /** A person has approved that the call works on the real folder, without a sandbox. */
  isUnconfined?: boolean;
  /** Origins of text in the call's prompt that the requester has not written. What the call writes gets them too. */
  untrusted?: Origin[];
  /** Web addresses that the requester wrote in the turn, as complete URLs. */
  givenAddresses?: string[];
}

export interface ToolFile {
  name: string;
  path: string;
  mimeType: string;
}

/** A picture that the model sees with the result, scaled to what models accept. */
export interface ToolImage {
  mimeType: string;
  base64: string;
}

export interface ToolAttempt {
  isOk: boolean;
  /** What the model reads. */
  text: string;
  origins?: Origin[];
  files: ToolFile[];
  images?: ToolImage[];
  /** The failure is known to be temporary (network, time-out, 429, 5xx, or the plugin says so). Meaningless when `isOk`. */
  isRetryable: boolean;
  /**
   * The tool worked and reported a failure (not found, wrong input, a non-zero exit), so even an idempotent call is not
   * retried.
   */
  isAnswer?: boolean;
  retryAfterMs?: number;
}

/** `invalid`, `denied` and `blocked` calls never ran. The text of `interrupted` says whether the call may have run. */
export type ToolStatus = "ok" | "failed" | "invalid" | "denied" | "blocked" | "interrupted";

export interface ToolResult {
  callId: string;
  name: string;
  status: ToolStatus;
  text: string;
  /** Where the text comes from. Absent if that is unknown, as after an interrupted call. */
  origins?: Origin[];
  attempts: number;
  /** Total of all attempts and the waits between them. */
  durationMs: number;
  files: ToolFile[];
  images?: ToolImage[];
}

export interface Toolbox {
  /** Lists the tools that a conversation may use now. Includes changes to skills since the last call. */
  specs(conversationId: string): ToolSpec[];
  /** Makes one attempt. Never throws; if a plugin throws, the attempt has failed. */
  run(call: ToolCall, scope: ToolScope, signal: AbortSignal): Promise<ToolAttempt>;
}

/** A tool call on its way through the queue. Plain JSON. */
export interface ToolJob {
  /** `<turnId>-<callId>`; the same id is the same job. */
  id: string;
  call: ToolCall;
  scope: ToolScope;
  /** Id of the approval. Absent if nobody was asked. */
  approvalId?: string;
  isIdempotent: boolean;
  timeoutMs: number;
}

export interface ToolQueue {
  /** Runs the job, or waits for it if it already runs. Never throws; after an abort, the status is `interrupted`. */
  run(job: ToolJob, signal: AbortSignal): Promise<ToolResult>;
  counts(): { waiting: number; running: number };
  /** Accepts no new jobs. Resolves when no job runs any more. */
  close(): Promise<void>;
}

/** Returns the hosts that a shell call wants to reach, as the call names them; empty for every other tool. */
export function networkOf({ shellParameters }: Pick<ToolSpec, "shellParameters">, input: JsonObject): string[] {
  const { network } = input;
  if (shellParameters.length === 0 || !Array.isArray(network)) return [];
  return network.filter((host) => typeof host === "string");
}

export type FolderUse = "none" | "read" | "write";
