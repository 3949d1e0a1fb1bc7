/**
 * A **Toolbox** owns tools and makes one attempt: it never throws and never retries. A **ToolQueue** makes a job of a call:
 * its effect is started at most once unless the tool is idempotent, and every request for the job gets the same result.
 */
import type { Author, JsonObject, Scope } from "./message.ts";

import type { Origin } from "./origin.ts";

export type JsonSchema = { [key: string]: unknown };

export interface ToolSpec {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`, as every provider takes it. */
  name: string;
  description: string;
  /** A JSON Schema whose `type` is `object`. */
  parameters: JsonSchema;
  /** The skill that owns it; `remora` for built-in ones. */
  skill: string;
  /** Changes nothing anywhere: may run beside other read-only calls of its step. */
  isReadOnly: boolean;
  /** Running it twice is the same as running it once: any failure may be retried, also after a crash. */
  isIdempotent: boolean;
  /** Its results come from outside: somebody else may have written them (`untrusted: true` in SKILL.md). */
  readsUntrusted: boolean;
  /** It can send something out to where others read it (`outward: true` in SKILL.md). */
  isOutward: boolean;
  timeoutMs: number;
  /** What a call does with the working folder (`folder: read` or `write` in SKILL.md). */
  folder: FolderUse;
  /** The program or service that offers the tool, as named in the settings. Absent for tools of a SKILL.md. */
  offeredBy?: string;
  /** Parameters that hold a shell command (`format: shell` in SKILL.md), for the gate. */
  shellParameters: string[];
}

/** What the model asked for, parsed: `input` has already passed the tool's schema. */
export interface ToolCall {
  id: string;
  name: string;
  input: JsonObject;
}

/** Who and where a call is run for. Plain JSON: it travels with the job. */
export interface ToolScope {
  turnId: string;
  conversationId: string;
  scope: Scope;
  requester: Author;
  /** Absolute path; relative paths of shell and file tools start here. */
  workingFolder: string;
  /** A person has approved that the call works on the real folder, without a sandbox. */
  isUnconfined?: boolean;
  /** What the prompt that led to the call held that the requester has not written; what the call writes keeps it. */
  untrusted?: Origin[];
  /** Web addresses that the requester wrote in the turn, as URLs are written in full. */
  givenAddresses?: string[];
}

export interface ToolFile {
  name: string;
  path: string;
  mimeType: string;
}

export interface ToolAttempt {
  isOk: boolean;
  /** What the model reads. */
  text: string;
  origins?: Origin[];
  files: ToolFile[];
  /** Known to be passing (network, time-out, 429, 5xx, the plugin says so). Meaningless when `isOk`. */
  isRetryable: boolean;
  /** The tool did its work and said no (not found, wrong input, a non-zero exit): trying again changes nothing, idempotent or not. */
  isAnswer?: boolean;
  retryAfterMs?: number;
}

/** `invalid`, `denied` and `blocked` calls never ran. The text of `interrupted` says whether it may have run. */
export type ToolStatus = "ok" | "failed" | "invalid" | "denied" | "blocked" | "interrupted";

export interface ToolResult {
  callId: string;
  name: string;
  status: ToolStatus;
  text: string;
  /** Where the text comes from; absent: not known, as of a call that was cut off. */
  origins?: Origin[];
  attempts: number;
  /** Of all attempts and the waits between them. */
  durationMs: number;
  files: ToolFile[];
}

export interface Toolbox {
  /** The tools a conversation may use now; a changed skill is in force on the next call. */
  specs(conversationId: string): ToolSpec[];
  /** One attempt. Never throws: an exception of a plugin is an attempt that failed. */
  run(call: ToolCall, scope: ToolScope, signal: AbortSignal): Promise<ToolAttempt>;
}

/** A tool call on its way through the queue. Plain JSON. */
export interface ToolJob {
  /** `<turnId>-<callId>`; the same id is the same job. */
  id: string;
  call: ToolCall;
  scope: ToolScope;
  /** What it was approved by; absent: nobody was asked. */
  approvalId?: string;
  isIdempotent: boolean;
  timeoutMs: number;
}

export interface ToolQueue {
  /** Runs or re-joins the job. Never throws; an abort ends as `interrupted`. */
  run(job: ToolJob, signal: AbortSignal): Promise<ToolResult>;
  counts(): { waiting: number; running: number };
  /** Resolves when nothing runs; takes nothing new. */
  close(): Promise<void>;
}

/** The hosts that a shell call wants to reach, as it names them; empty for every other tool. */
export function networkOf({ shellParameters }: Pick<ToolSpec, "shellParameters">, input: JsonObject): string[] {
  const { network } = input;
  if (shellParameters.length === 0 || !Array.isArray(network)) return [];
  return network.filter((host) => typeof host === "string");
}

export type FolderUse = "none" | "read" | "write";
