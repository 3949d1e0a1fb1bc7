/**
 * The gate classifies calls by the patterns of SKILL.md files alone. `classify` never throws and is bounded in time: a call
 * that can't be checked in time asks. Block beats confirm beats safe, over all patterns of all skills.
 */
import type { JsonObject } from "./message.ts";

export type VerdictClass = "safe" | "confirm" | "block";

export interface GateMatch {
  kind: "danger" | "confirm";
  skill: string;
  /** Path of the SKILL.md; empty for the gate's own fail-closed rules. */
  file: string;
  /** 1-based line of the pattern in `file`; 0: none. */
  line: number;
  pattern: string;
  reason?: string;
  /** `exact`, `decoded`, `folded`, `shell`, `tag`, or `fail-closed`. */
  form: string;
}

export interface Verdict {
  class: VerdictClass;
  /** Strictest first. Empty exactly when `class` is `safe`. */
  matches: GateMatch[];
  /** `#shell:dynamic-command` and so on, without the tool's name. */
  tags: string[];
  /** The judged arguments, which must be shown, hashed, queued and executed. Absent when they can't be serialised. */
  input?: JsonObject;
  /** The exact match string's second half: `JSON.stringify(args)`. */
  argsJson: string;
}

export interface Gate {
  /** `extraTags`: facts that the call does not show, such as `#taint:untrusted`. */
  classify(tool: string, args: unknown, extraTags?: string[]): Verdict;
}

/** One pattern of a SKILL.md. Patterns of every loaded skill apply to every tool. */
export interface GateRule {
  kind: "danger" | "confirm";
  /** As written: a regular expression, matched case-insensitively. */
  pattern: string;
  reason?: string;
  skill: string;
  file: string;
  line: number;
}

export interface GateRules {
  rules: GateRule[];
  /** The parameters that hold a shell command, by tool. */
  shellParameters: ReadonlyMap<string, readonly string[]>;
}
