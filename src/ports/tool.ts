/**
 * A **Toolbox** makes one attempt at a call; it never throws or retries. A **ToolQueue** runs a call as a job: it
 * starts the call at most once unless the tool is idempotent, and every request for the job gets the same result.
 */
import type { BoundFiles } from "./bound-files.ts";
import type { Author, JsonObject, Scope } from "./message.ts";

import type { Origin } from "./origin.ts";

export type JsonSchema = { [key: string]: unknown };

export interface ToolSpec {
  /** 1 to 64 characters of `A-Z a-z 0-9 _ -`, which every provider accepts. */
  name: string;
  description: string;
  parameters: JsonSchema;
  skill: string;
  /** Changes nothing anywhere, so it may run in parallel with other read-only calls of its step. */
  isReadOnly: boolean;
  /** Running it twice has the same effect as running it once, so any failure may be retried, even after a crash. */
  isIdempotent: boolean;
  /** Somebody else may have written its results (`untrusted: true` in SKILL.md). */
  readsUntrusted: boolean;
  /** Can send something to where others read it (`outward: true` in SKILL.md). */
  isOutward: boolean;
  /**
   * After text from outside, a call asks only with one of these arguments, because without them it can't hurt. If absent, every
   * call asks that can change or send something. Counts only for code that came with Remora.
   */
  asksTaintedWith?: string[];
  /** Its results are for the person who asks alone, so it only runs in their direct messages (`private: true` in SKILL.md). */
  isPrivate?: boolean;
  /** It changes what is the requester's alone, so other people's words count like text from outside. */
  isPersonal?: boolean;
  /** Its code did not come with Remora. */
  isInstalled?: boolean;
  timeoutMs: number;
  folder: FolderUse;
  /** The program or service that offers the tool, as named in the settings. Absent for tools of a SKILL.md. */
  offeredBy?: string;
  /** Of an offered tool: its name could tell a model what to do, so only what loads the tool shows it. */
  isNameHidden?: boolean;
  shellParameters: string[];
  /** How a card says what a call will do, such as `Post to {channel}: {text}`. */
  ask?: string;
  /** Requests define it even if they only name others (`always: true` in SKILL.md; tool-offer.ts). */
  isAlwaysDefined?: boolean;
  /** The settings want every tool in the request. */
  isDefinedByChoice?: boolean;
  /** Plain words for progress. Absent if its SKILL.md has none. */
  phrases?: ToolPhrases;
}

/** `doing` and `done` can name arguments, as in "Reading {path}". `many` names the number of calls: "Read {count} files". */
export interface ToolPhrases {
  doing: string;
  done: string;
  many: string;
}

/** `input` has already passed the tool's schema. */
export interface ToolCall {
  id: string;
  name: string;
  input: JsonObject;
}

/** Plain JSON, because it is stored with the job. */
export interface ToolScope {
  turnId: string;
  conversationId: string;
  scope: Scope;
  requester: Author;
  workingFolder: string;
  /** A person has approved running the call on the real folder, without a sandbox. */
  isUnconfined?: boolean;
  /** Origins of text in the call's prompt that the requester did not write. The call's output files get them too. */
  untrusted?: Origin[];
  givenAddresses?: string[];
  /** The call runs only while these files are as they were when people approved it. */
  bound?: BoundFiles;
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

/** Scales a picture for models, from its bytes or an open file. A `problem` is a sentence. Rejects only on abort. */
export type ScalePicture = (
  source: Uint8Array | number,
  signal: AbortSignal,
) => Promise<({ type: "picture" } & ToolImage) | { type: "problem"; message: string }>;

export interface ToolAttempt {
  isOk: boolean;
  text: string;
  origins?: Origin[];
  files: ToolFile[];
  images?: ToolImage[];
  /** The failure is known to be temporary. Meaningless if `isOk`. */
  isRetryable: boolean;
  /** The tool worked and reported a failure, such as a non-zero exit, so not even an idempotent call is retried. */
  isAnswer?: boolean;
  retryAfterMs?: number;
  /** It did not run, because these files have changed since people approved it. */
  changedFiles?: string[];
  /** The text may not be stored (ephemeral.ts). */
  isEphemeral?: true;
}

/** `invalid`, `denied` and `blocked` calls never ran. The text of `interrupted` ones says whether they may have run. */
export type ToolStatus = "ok" | "failed" | "invalid" | "denied" | "blocked" | "interrupted";

export interface ToolResult {
  callId: string;
  name: string;
  status: ToolStatus;
  text: string;
  /** Where the text comes from. Absent if unknown, for example after an interruption. */
  origins?: Origin[];
  attempts: number;
  /** Total of all attempts and the waits between them. */
  durationMs: number;
  files: ToolFile[];
  images?: ToolImage[];
  /** As in `ToolAttempt`. */
  changedFiles?: string[];
  /** `text` says that the result is not kept. What the model reads instead is in memory alone (ephemeral.ts). */
  isEphemeral?: true;
}

export interface Toolbox {
  specs(conversationId: string): ToolSpec[];
  /** Makes one attempt. Never throws; if a plugin throws, the attempt has failed. */
  run(call: ToolCall, scope: ToolScope, signal: AbortSignal): Promise<ToolAttempt>;
}

/** `round` counts how often people were asked again, because files had changed. */
export function jobIdOf(turnId: string, callId: string, round = 0): string {
  return `${turnId}-${callId}${round === 0 ? "" : `-again-${round}`}`;
}

export interface ToolJob {
  /** See `jobIdOf`. The same id means the same job. */
  id: string;
  call: ToolCall;
  scope: ToolScope;
  approvalId?: string;
  isIdempotent: boolean;
  timeoutMs: number;
}

export interface ToolQueue {
  /**
   * Runs the job, or waits if it is already running. An abort gives the status `interrupted`. Rejects only if storage
   * refuses for a while and the tool has not run; the same job can then be submitted again.
   */
  run(job: ToolJob, signal: AbortSignal): Promise<ToolResult>;
  counts(): { waiting: number; running: number };
  /** Accepts no new jobs. Resolves when no job is running. */
  close(): Promise<void>;
}

export function networkOf({ shellParameters }: Pick<ToolSpec, "shellParameters">, input: JsonObject): string[] {
  const { network } = input;
  if (shellParameters.length === 0 || !Array.isArray(network)) return [];
  return network.filter((host) => typeof host === "string");
}

/** True if a call can change or send something outside its draft. In doubt it can. */
export function actsOutside(spec: ToolSpec | undefined, input: JsonObject): boolean {
  if (spec === undefined || spec.isOutward || networkOf(spec, input).length > 0) return true;
  if (spec.isReadOnly) return false;
  // Other code may write to its own store as well.
  return spec.folder !== "write" || spec.isInstalled === true;
}

/** Removes the pictures and mentions them in the text. */
export function withoutImages<T extends { text: string; images?: ToolImage[] }>(result: T): Omit<T, "images"> {
  const { images, ...rest } = result;
  if (images === undefined) return result;
  return { ...rest, text: `${rest.text}\n\n(Its picture is no longer shown. Call the tool again if you need it.)` };
}

export type FolderUse = "none" | "read" | "write";
