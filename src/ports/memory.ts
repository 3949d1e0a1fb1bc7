/**
 * Memory is Markdown that people can read, with a search over exactly the given scopes. Saving a turn again replaces its
 * episode.
 */
import type { Author, MemoryScope, Scope } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ToolCall, ToolResult } from "./tool.ts";
import type { TurnState } from "./turn.ts";

export interface MemoryHit {
  /** Relative to the workspace, `/`-separated. */
  path: string;
  heading: string;
  /** ISO 8601; empty if unknown. */
  at: string;
  scope: MemoryScope;
  /** Higher is better. Comparable only within one result. */
  score: number;
  text: string;
  /** Origins of the text; empty for text that people wrote into the files. */
  origins: Origin[];
}

export interface MemoryQuery {
  query: string;
  scopes: MemoryScope[];
  limit: number;
}

export interface Episode {
  turnId: string;
  scope: Scope;
  conversationId: string;
  at: number;
  users: Author[];
  userText: string;
  tools: { call: ToolCall; result: ToolResult }[];
  response: string;
  origins: Origin[];
  outcome: Extract<TurnState, "done" | "failed" | "stopped">;
}

export interface Feedback {
  /** Feedback with an id is written only once. */
  id?: string;
  turnId: string;
  scope: Scope;
  at: number;
  tool: string;
  /** The arguments in one short line, already redacted. */
  summary: string;
  /** `ok`, `failed`, `approved`, `denied`, `expired`, `blocked`, … */
  outcome: string;
  /** `waitedMs` and `by` are present only for people's decisions. */
  waitedMs?: number;
  by?: Author;
}

export interface Memory {
  /** Returns hits, best first. Never rejects because of the query text. */
  search(query: MemoryQuery): Promise<MemoryHit[]>;
  /** Returns past decisions and outcomes of a scope for the prompt, at most 2,400 characters; may be empty. */
  digest(scope: Scope): Promise<string>;
  saveEpisode(episode: Episode): Promise<void>;
  recordFeedback(feedback: Feedback): Promise<void>;
  close(): Promise<void>;
}
