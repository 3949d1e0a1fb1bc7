/** Judges what a call could do outside its draft, before it runs. */
import type { GateMatch } from "./gate.ts";
import type { JsonObject } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ToolSpec } from "./tool.ts";

/** The reason to ask about a call that names hosts, which its card lists. */
export const reachesNetwork = "It reaches the network.";

export interface CallState {
  isUnconfined: boolean;
  untrusted: readonly Origin[];
  /** Web addresses that the requester wrote in the turn, as complete URLs. */
  givenAddresses?: readonly string[];
  /** A rule asks about the call anyway. */
  isAsked?: boolean;
}

export interface Containment {
  /** True if the call can change only its draft, so it can run again after a crash. */
  isContained(spec: ToolSpec | undefined, input: JsonObject): boolean;
  /** True if no view of the folder is possible, so the call would work on the real folder. */
  isUnconfined(spec: ToolSpec | undefined, folder: string): Promise<boolean>;
  /** Explains to the model why the call can't run at all. Nobody is asked about such a call. */
  problem(spec: ToolSpec | undefined, input: JsonObject): string | undefined;
  reasons(spec: ToolSpec | undefined, input: JsonObject, state: CallState): GateMatch[];
  /** Lists what the call could send out of the draft. */
  facts(spec: ToolSpec | undefined, input: JsonObject, conversationId: string): Promise<string[]>;
  /** Whether what the call does can be undone, as a sentence for people. In doubt it can't. */
  undo(spec: ToolSpec | undefined, input: JsonObject, isUnconfined: boolean): string;
}
