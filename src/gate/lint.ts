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
  const anchor = anchorInside(pattern);
  if (anchor !== undefined) {
    const where = anchor === "^" ? "follows other text" : "is followed by other text";
    warnings.push({
      code: "gate.inner-anchor",
      message: `can never match: \`${anchor}\` ${where}. Escape it as \`\\${anchor}\`, or remove it`,
    });
  }
  if (hasBoundaryInsideWord(pattern)) {
    warnings.push({
      code: "gate.inner-boundary",
      message: "can never match: `\\b` stands between two letters or digits; remove it",
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

/**
 * Finds a `^` that a character must precede, or a `$` that a character must follow: matched texts are one line. Only
 * neighbours that certainly match a character count, so a pattern that can match is never reported.
 */
function anchorInside(pattern: string): "^" | "$" | undefined {
  const isLiteral = (token: string) =>
    /^(?:[\w "'/,:;=<>~@#%&!-]|\\[dswDSW./"'{}()[\]|+*?^$\\-]|\[.*\]|\.)$/s.test(token);
  const isOptional = (token: string) => /^(?:[*?]|\{0?,)/.test(token);
  const tokens =
    pattern.match(/\\.|\(\?(?:P?<\w+>|[a-zA-Z-]*:?)|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|[\s\S]/g) ?? [];
  for (const [at, token] of tokens.entries()) {
    const [before = "", next = "", afterNext = ""] = [tokens[at - 1], tokens[at + 1], tokens[at + 2]];
    if (token === "^" && (isLiteral(before) || (before === "+" && isLiteral(tokens[at - 2] ?? "")))) return "^";
    if (token === "$" && isLiteral(next) && !isOptional(afterNext)) return "$";
  }
  return undefined;
}

/** Finds a `\b` between two characters of a word. A character with a quantifier may be missing, so it does not count. */
function hasBoundaryInsideWord(pattern: string): boolean {
  return /(?<![\\[(?<]|\\[pPuxk]\{?)\w\\b\w(?![?*{|])/.test(pattern.replaceAll(/\[(?:\\.|[^\]])*\]/g, "[]"));
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
