/** Warns the authors of patterns about likely mistakes. A pattern with a warning is still active. */
import type { GateRules } from "../ports/gate.ts";
import { compileRules, type GateDiagnostic } from "./compile.ts";
import { createDeadline } from "./deadline.ts";
import { readPattern } from "./pattern-compiler.ts";
import { createPatternSet } from "./pattern-set.ts";

interface Warning {
  code: string;
  message: string;
}

/** A pattern may start with one of `knownTools` after `^`. Warnings are ordered by file and line. */
export function lintRules(rules: GateRules, knownTools: readonly string[]): GateDiagnostic[] {
  const { diagnostics } = compileRules(rules);
  const warnings = [...rules.rules.flatMap((rule) => toDiagnostics(rule, warningsOf(rule.pattern, knownTools)))];
  return [...diagnostics, ...warnings].sort((one, other) =>
    one.path === other.path ? one.line - other.line : one.path < other.path ? -1 : 1,
  );
}

function toDiagnostics(rule: { file: string; line: number }, warnings: Warning[]): GateDiagnostic[] {
  return warnings.map((warning) => ({ path: rule.file, line: rule.line, severity: "warning", ...warning }));
}

function warningsOf(pattern: string, knownTools: readonly string[]): Warning[] {
  if (pattern.trim() === "" || readPattern(pattern) === undefined) return [];
  const warnings: Warning[] = [];
  if (endsInAnchor(pattern)) {
    warnings.push({
      code: "gate.end-anchor",
      message: "ends in `$`, but the matched text ends in `}`, so only derived forms can match; remove the `$`",
    });
  }
  const tool = unknownToolAtStart(pattern, knownTools);
  if (tool !== undefined) {
    warnings.push({
      code: "gate.start-anchor",
      message: `starts with \`^${tool}\`, but the matched text starts with a tool name and no loaded tool has that name; remove the \`^\` or name a tool`,
    });
  }
  if (pattern.startsWith("(?i)")) {
    warnings.push({
      code: "gate.inline-flag",
      message: "starts with `(?i)`; matching never depends on case, so remove it",
    });
  }
  if (matches(pattern, "")) {
    warnings.push({
      code: "gate.matches-everything",
      message: "matches the empty text and so every call of every tool; make part of it required",
    });
  }
  return warnings;
}

function endsInAnchor(pattern: string): boolean {
  // True for an unescaped final `$` that does not follow `}`, because `}` could end the exact text.
  return /(?<!\\)(?:\\\\)*\$$/.test(pattern) && !/\}\)*\$$/.test(pattern);
}

/** Finds literal text after `^` that no tool name starts with. Checks each alternative of an unnested group. */
function unknownToolAtStart(pattern: string, knownTools: readonly string[]): string | undefined {
  const anchored = /^(?:\(\?i\))?\^(?:\((?:\?:)?([^()]*)\)|([\w-]*))/.exec(pattern);
  const alternatives = anchored?.[1]?.split("|") ?? [anchored?.[2] ?? ""];
  const beginnings = alternatives.map((text) => /^[\w-]*/.exec(text)?.[0] ?? "");
  const tools = knownTools.map((tool) => tool.toLowerCase());
  return beginnings.find((text) => text !== "" && !tools.some((tool) => tool.startsWith(text.toLowerCase())));
}

/** Uses the gate's own engines so that no pattern can make the check hang. */
function matches(pattern: string, text: string): boolean {
  const set = createPatternSet([readPattern(pattern)]);
  return set.match([text], createDeadline(100)).first.size > 0;
}
