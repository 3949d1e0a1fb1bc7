/** Memory is Markdown that people can read. A search covers exactly the given scopes. */
import type { Author, MemoryScope, Scope } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { NoteSource } from "./shown-context.ts";
import type { ToolCall, ToolResult } from "./tool.ts";
import type { TurnState } from "./turn.ts";
import type { Payer } from "./usage.ts";

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
  origins: Origin[];
}

export interface MemoryQuery {
  query: string;
  scopes: MemoryScope[];
  limit: number;
  /** Nobody asked memory: leaves out what shares only common words with the text. */
  isUnasked?: true;
  /** Who pays for finding by meaning. Absent if it is nobody in particular. */
  payer?: Payer;
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

/** A turn whose person has changed what they had said. */
export interface ChangedWords {
  turnId: string;
  scope: Scope;
  /** As in its episode. */
  at: number;
  /** Absent if nothing is left of it, or if nobody knows what. */
  userText?: string;
}

export interface Feedback {
  /** Feedback with an id is written only once, unless it `replaces` the earlier line. */
  id?: string;
  /** Writes the line in place of the earlier one with this id, or removes it. `at` must be of the same day. */
  replaces?: "with-this" | "with-nothing";
  turnId: string;
  scope: Scope;
  at: number;
  tool: string;
  summary: string;
  outcome: string;
  /** Present only for people's decisions, like `by`. */
  waitedMs?: number;
  by?: Author;
}

/** The `tool` of the line that says how a turn without tool calls ended. No tool can have a name with spaces. */
export const turnWithoutTools = "turn without tools";

export interface Memory {
  /** Best hits first. Never rejects because of the query text. */
  search(query: MemoryQuery): Promise<MemoryHit[]>;
  /** Returns those that memory still has, as last searched. */
  stillKnown(sources: readonly NoteSource[]): Promise<NoteSource[]>;
  /** Summarizes a scope's past decisions and outcomes for the prompt, in at most 2,400 characters. May be empty. */
  digest(scope: Scope): Promise<string>;
  saveEpisode(episode: Episode): Promise<void>;
  /** Changes what was asked in a turn's episode, or removes the episode. Does nothing if there is none. */
  changeEpisode(words: ChangedWords): Promise<void>;
  recordFeedback(feedback: Feedback): Promise<void>;
  close(): Promise<void>;
}
