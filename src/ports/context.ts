/**
 * The context port: everything that the model is shown for one step, from the journal of the turn.
 * Of everything that `build` returns a snapshot is written, exactly as it is then, as soon as the loop is free after it.
 */
import type { InboundMessage } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ModelRequest } from "./provider.ts";
import type { ToolSpec } from "./tool.ts";
import type { TurnRecord } from "./turn.ts";

export interface SkillBrief {
  name: string;
  /** One clean line. */
  description: string;
  /** Lower-case keywords, or `*`; empty: never injected. */
  triggers: string[];
  /** It has tools: always listed, its body never injected. */
  isCapability: boolean;
  /** The body without frontmatter. */
  body: string;
}

export interface ContextInput {
  turn: TurnRecord;
  /** 1-based number of the model call in its turn. */
  step: number;
  /** Empty when the step must end in text. */
  tools: ToolSpec[];
  /** Said in `<runtime>`, e.g. that tools are used up. */
  notes: string[];
}

export interface BuiltContext {
  request: ModelRequest;
  /** Relative to the workspace, where the snapshot will be in a moment; when it can't be written, the log says so. */
  snapshotPath: string;
  estimatedTokens: number;
  /** Of everything in the prompt, people's own words too. */
  origins: Origin[];
}

export interface ContextBuilder {
  /** A message has come in that a turn will be about: what takes time may be begun. Never throws, and may be left out. */
  prepare(message: InboundMessage): void;
  build(input: ContextInput): Promise<BuiltContext>;
  /** Makes an ended turn part of its conversation's history; the same turn again replaces itself. */
  remember(turn: TurnRecord): Promise<void>;
  /** `/remora new`: the next turn starts without history. With a person, only the exchanges they took part in go. */
  forget(conversationId: string, person?: { platform: string; userId: string }): Promise<void>;
  /** Writes the snapshots that are still to be written. */
  flush(): void;
}
