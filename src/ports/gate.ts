/**
 * The gate classifies calls only by the patterns in SKILL.md files. `classify` never throws and is bounded in time; a call that
 * can't be checked in time needs a person's approval. The strictest matching pattern of all skills decides: block, then
 * confirm, then safe.
 */
import type { JsonObject } from "./message.ts";

export type VerdictClass = "safe" | "confirm" | "block";

export interface GateMatch {
  kind: "danger" | "confirm";
  skill: string;
  /** Path of the SKILL.md; empty for the gate's own fail-closed rules. */
  file: string;
  /** 1-based line of the pattern in `file`; 0 if there is none. */
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
  /** Tags such as `#shell:dynamic-command`, without the tool's name. */
  tags: string[];
  /** The judged arguments, which must be shown, hashed, queued and executed. Absent when they can't be serialised. */
  input?: JsonObject;
  /** `JSON.stringify(args)`, the second half of the exact match string. */
  argsJson: string;
}

export interface Gate {
  /** `extraTags` are facts that the call itself does not show, such as `#taint:untrusted`. */
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
  /** The parameters that contain a shell command, by tool. */
  shellParameters: ReadonlyMap<string, readonly string[]>;
}
