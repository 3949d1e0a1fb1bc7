/**
 * The memory port: Markdown that people can read, and a search over it.
 *
 * A query sees exactly the scopes it is given; what was learned in a DM is in that DM's scope alone.
 * Saving the same turn again replaces its entry, so that a turn resumed after a crash is remembered once.
 */
import type { Author, MemoryScope, Scope } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ToolCall, ToolResult } from "./tool.ts";
import type { TurnState } from "./turn.ts";

export interface MemoryHit {
  /** Relative to the workspace, `/`-separated. */
  path: string;
  heading: string;
  /** ISO 8601; empty where the source has no time. */
  at: string;
  scope: MemoryScope;
  /** Higher is better; comparable within one answer only. */
  score: number;
  text: string;
  /** Who and what the text comes from; empty for what people wrote into the files themselves. */
  origins: Origin[];
}

export interface MemoryQuery {
  query: string;
  scopes: MemoryScope[];
  limit: number;
}

/** One turn, as it is remembered. */
export interface Episode {
  turnId: string;
  scope: Scope;
  conversationId: string;
  at: number;
  users: Author[];
  userText: string;
  tools: { call: ToolCall; result: ToolResult }[];
  response: string;
  /** Of what was said and read in the turn. */
  origins: Origin[];
  outcome: Extract<TurnState, "done" | "failed" | "stopped">;
}

/** One tool outcome or one person's decision, as preference history. */
export interface Feedback {
  /** One with an id is written once, however often it is given. */
  id?: string;
  turnId: string;
  scope: Scope;
  at: number;
  tool: string;
  /** The arguments in one short line, already redacted. */
  summary: string;
  /** `ok`, `failed`, `approved`, `denied`, `expired`, `blocked`, … */
  outcome: string;
  /** How long a decision was waited for; absent for outcomes. */
  waitedMs?: number;
  /** Who decided; absent for outcomes. */
  by?: Author;
}

export interface Memory {
  /** Best first. Never rejects for any query text; what can't be searched finds nothing. */
  search(query: MemoryQuery): Promise<MemoryHit[]>;
  /** Past decisions and outcomes of a scope for the prompt, at most 2,400 characters; empty when there are none. */
  digest(scope: Scope): Promise<string>;
  saveEpisode(episode: Episode): Promise<void>;
  recordFeedback(feedback: Feedback): Promise<void>;
  close(): Promise<void>;
}
