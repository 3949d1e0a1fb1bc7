/** Builds the model's prompt for one step from the turn's record. */
import type { InboundMessage, MessageChange } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ModelRequest } from "./provider.ts";
import type { ShownContext } from "./shown-context.ts";
import type { ToolSpec } from "./tool.ts";
import type { TurnRecord } from "./turn.ts";

export interface SkillBrief {
  name: string;
  description: string;
  /** Lower-case keywords, or `*`. If empty, the body is sent only if a person names the skill. */
  triggers: string[];
  /** True if the skill has tools. If its triggers match, its body follows the bodies of skills without tools. */
  isCapability: boolean;
  body: string;
}

export interface ContextInput {
  turn: TurnRecord;
  /** 1-based number of the model call in its turn. */
  step: number;
  tools: ToolSpec[];
  /** For this step only, behind everything else. */
  notes: string[];
}

export interface BuiltContext {
  request: ModelRequest;
  /**
   * Builds the request with at most `tokens`. Keeps the system prompt, the tools, the newest messages and the results of
   * this turn, cut if they are long. Returns the request itself if it fits.
   */
  fitting?(tokens: number): ModelRequest;
  /** As `fitting`, for a model that refuses the request as too long: with at most half of its tokens. */
  shorter?(tokens?: number): ModelRequest;
  /** Relative to the workspace. The snapshot is written later, and a failed write is only logged. */
  snapshotPath: string;
  estimatedTokens: number;
  /** Includes people's own words. */
  origins: Origin[];
  /** To save with the turn. */
  shown: ShownContext[];
}

export interface ContextBuilder {
  /** Starts slow work for this message's turn early. Calling it is optional. Must not throw. */
  prepare(message: InboundMessage): void;
  build(input: ContextInput): Promise<BuiltContext>;
  /** Adds an ended turn to its conversation's history, or replaces the turn's earlier entry. */
  remember(turn: TurnRecord): Promise<void>;
  /** The turn as it is to be remembered: with its messages as they were edited or deleted since. */
  current(turn: TurnRecord): Promise<TurnRecord>;
  /**
   * A message was edited or deleted. Changes what later prompts repeat of it, and what memory has; nothing if no turn has it.
   * `isTaken`: a turn has taken it, whether it has begun or not.
   */
  amend(messageKey: string, change: MessageChange, isTaken: boolean): Promise<void>;
  /** Removes the history or, with `person`, only exchanges with this person and a summary that covers any of them. */
  forget(conversationId: string, person?: { platform: string; userId: string }): Promise<void>;
  flush(): void;
}

export interface ContextPreview {
  /** The `provider/model` that would be asked first. */
  model: string;
  budgetTokens: number;
  /** All token counts are estimates. */
  usedTokens: number;
  sections: { section: ContextSection; tokens: number; kept: number; leftOut: number }[];
  /** Numbers of earlier turns that are shown individually and that do not fit into the budget. */
  exchanges: { shown: number; leftOut: number };
  /** Stands for older turns. */
  summary?: { turns: number; at: number };
}

/** `always` covers the newest message and the tools, which have no share of the budget. */
export type ContextSection = "always" | "identity" | "prefrontal" | "memory" | "skills" | "history";

export interface ContextPreviews {
  /** Returns what the first model call of this turn would contain. Writes no snapshot and calls no model. */
  preview(turn: TurnRecord, tools: ToolSpec[]): Promise<ContextPreview>;
}
