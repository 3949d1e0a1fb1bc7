/** Collects problems in a skill file instead of throwing so that one bad line does not hide the others. */
import type { SkillDiagnostic } from "../../ports/skill.ts";

export interface Notes {
  readonly list: SkillDiagnostic[];
  warn(line: number, code: string, message: string, printed?: string): void;
  /** Reports a problem that keeps the skill, or the part named in the message, from being loaded. */
  error(line: number, code: string, message: string): void;
}

const maxWarnings = 50;

export function createDiagnostics(path: string): Notes {
  const list: SkillDiagnostic[] = [];
  const push = (line: number, severity: SkillDiagnostic["severity"], code: string, message: string, printed = "") =>
    list.push({ path, line, severity, code: `skill.${code}`, message, ...(printed === "" ? {} : { printed }) });
  const add =
    (severity: SkillDiagnostic["severity"]) => (line: number, code: string, message: string, printed?: string) => {
      if (severity === "error" || list.length < maxWarnings) push(line, severity, code, message, printed);
      else if (list.length === maxWarnings)
        push(0, "warning", "more-findings", "there are more problems than listed here");
    };
  return { list, warn: add("warning"), error: add("error") };
}

/** A problem of a whole file or folder. */
export function diagnosticOf(
  path: string,
  severity: SkillDiagnostic["severity"],
  code: string,
  message: string,
): SkillDiagnostic {
  return { path, line: 0, severity, code: `skill.${code}`, message };
}

export function describeDiagnostic({ path, line, message }: SkillDiagnostic): string {
  return `${path}${line === 0 ? "" : `:${line}`}: ${message}`;
}
