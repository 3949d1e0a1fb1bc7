/** Compiles the rules of all skills. Drops only empty rules; a pattern that no engine accepts is matched literally. */
import type { GateRule, GateRules } from "../ports/gate.ts";
import type { SkillDiagnostic } from "../ports/skill.ts";
import { literally, maxPatternCharacters, type Readings, readPattern } from "./pattern-compiler.ts";
import { createPatternSet, type PatternSet } from "./pattern-set.ts";

export type GateDiagnostic = SkillDiagnostic;

export interface CompiledRules {
  rules: readonly GateRule[];
  patterns: PatternSet;
  shellParameters: GateRules["shellParameters"];
  diagnostics: GateDiagnostic[];
}

export function compileRules({ rules, shellParameters }: GateRules): CompiledRules {
  const diagnostics: GateDiagnostic[] = [];
  const report = (rule: GateRule, problem: Pick<GateDiagnostic, "severity" | "code" | "message">) => {
    diagnostics.push({ path: rule.file, line: rule.line, ...problem });
  };
  const patterns = rules.map((rule): Readings | undefined => {
    const { readings, problem } = readRule(rule.pattern);
    if (problem === undefined) return readings;
    report(rule, problem);
    return problem.code === "gate.empty-pattern" ? undefined : literally(rule.pattern);
  });
  return { rules, patterns: createPatternSet(patterns), shellParameters, diagnostics };
}

interface ReadRule {
  readings?: Readings;
  problem?: Pick<GateDiagnostic, "severity" | "code" | "message">;
}

function readRule(pattern: string): ReadRule {
  if (pattern.trim() === "") {
    const message = "this pattern is empty and would match every call, so it is ignored; write what it should match";
    return { problem: { severity: "warning", code: "gate.empty-pattern", message } };
  }
  if (pattern.length > maxPatternCharacters) {
    const message = `this pattern has ${pattern.length} characters, more than ${maxPatternCharacters}, so it is matched as literal text; split it into several`;
    return { problem: { severity: "error", code: "gate.pattern-too-long", message } };
  }
  const readings = readPattern(pattern);
  if (readings !== undefined) return { readings };
  const message = `\`${pattern}\` is not a valid regular expression, so it is matched as literal text; correct it, or escape its special characters`;
  return { problem: { severity: "error", code: "gate.invalid-pattern", message } };
}
