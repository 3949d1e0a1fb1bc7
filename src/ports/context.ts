/** Builds the model's prompt for one step from the turn's record. A snapshot of what `build` returns is written soon after. */
import type { InboundMessage } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ModelRequest } from "./provider.ts";
import type { ToolSpec } from "./tool.ts";
import type { TurnRecord } from "./turn.ts";

export interface SkillBrief {
  name: string;
  description: string;
  /** Lower-case keywords, or `*`; if empty, the skill is never injected. */
  triggers: string[];
  /** True if the skill has tools; then it is always listed, and its body is never injected. */
  isCapability: boolean;
  body: string;
}

export interface ContextInput {
  turn: TurnRecord;
  /** 1-based number of the model call in its turn. */
  step: number;
  /** Empty if the step must end in text. */
  tools: ToolSpec[];
  /** Shown in `<runtime>`, e.g. that no more tool calls are allowed. */
  notes: string[];
}

export interface BuiltContext {
  request: ModelRequest;
  /** Path of the snapshot that will be written, relative to the workspace. A failed write is only logged. */
  snapshotPath: string;
  estimatedTokens: number;
  /** Origins of everything in the prompt, including people's own words. */
  origins: Origin[];
}

export interface ContextBuilder {
  /** Announces a turn about this message, so that slow work can begin early. Calling it is optional. Must not throw. */
  prepare(message: InboundMessage): void;
  build(input: ContextInput): Promise<BuiltContext>;
  /** Adds an ended turn to its conversation's history. If the turn is already there, replaces its entry. */
  remember(turn: TurnRecord): Promise<void>;
  /** Removes the conversation's history, or only the exchanges of `person`. */
  forget(conversationId: string, person?: { platform: string; userId: string }): Promise<void>;
  flush(): void;
}
