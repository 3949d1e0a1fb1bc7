/**
 * Classifies calls only by the patterns in SKILL.md files. The strictest match decides: block, confirm, safe.
 * `classify` never throws and is bounded in time: a call that can't be checked in time needs approval.
 */
import type { JsonObject } from "./message.ts";

export type VerdictClass = "safe" | "confirm" | "block";

export interface GateMatch {
  kind: "danger" | "confirm";
  skill: string;
  /** Path of the SKILL.md. Empty for the gate's own fail-closed rules. */
  file: string;
  line: number;
  pattern: string;
  reason?: string;
  /** `exact`, `decoded`, `folded`, `shell`, `tag`, or `fail-closed`. */
  form: string;
}

export interface Verdict {
  class: VerdictClass;
  /** Strictest first. Empty if and only if `class` is `safe`. */
  matches: GateMatch[];
  /** Tags such as `#shell:dynamic-command`, without the tool's name. */
  tags: string[];
  /** The arguments to show, hash, queue and run: exactly these were judged. Absent if they can't be serialized. */
  input?: JsonObject;
  argsJson: string;
}

export interface Gate {
  /** `extraTags` are facts that the call itself does not show, such as `#taint:untrusted`. */
  classify(tool: string, args: unknown, extraTags?: string[]): Verdict;
}

/** Each loaded skill's patterns apply to every tool. */
export interface GateRule {
  kind: "danger" | "confirm";
  pattern: string;
  reason?: string;
  skill: string;
  file: string;
  line: number;
}

export interface GateRules {
  rules: GateRule[];
  shellParameters: ReadonlyMap<string, readonly string[]>;
  /** Remora's own read-only tools, whose names no skill can use. Their calls are safe without pattern matching. */
  builtInReaders?: ReadonlySet<string>;
}
