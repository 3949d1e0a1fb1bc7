/** What a call could do beyond its draft, as the engine asks before it runs. */
import type { GateMatch } from "./gate.ts";

import type { JsonObject } from "./message.ts";

import type { Origin } from "./origin.ts";

import type { ToolSpec } from "./tool.ts";

/** What is known of a call besides its arguments. */
export interface CallState {
  isUnconfined: boolean;
  /** What the prompt that led to it held that the requester has not written. */
  untrusted: readonly Origin[];
}

export interface Containment {
  /** In a view it changes nothing but its draft: after a crash it can simply run again. */
  isContained(spec: ToolSpec | undefined, input: JsonObject): boolean;
  /** It would work on the real folder, because no view can be made over it. */
  isUnconfined(spec: ToolSpec | undefined, folder: string): Promise<boolean>;
  /** Why the call can't run whatever people answer, in a sentence for the model: then nobody is asked. */
  problem(spec: ToolSpec | undefined, input: JsonObject): string | undefined;
  /** Why a person must be asked, besides what the rules of skills say. */
  reasons(spec: ToolSpec | undefined, input: JsonObject, state: CallState): GateMatch[];
  /** What leaves the draft with the call, a line each. */
  facts(spec: ToolSpec | undefined, input: JsonObject, conversationId: string): Promise<string[]>;
}
