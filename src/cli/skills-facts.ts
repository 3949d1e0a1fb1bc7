/** What somebody should know before a skill is added, as text for a terminal: nothing of it can hide or move what is shown. */

import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill, SkillDiagnostic } from "../ports/skill.ts";
import { describePermissions } from "../skill-runtime/parse/permissions.ts";
import type { CopiedFile } from "./skills-copy.ts";

export interface SkillFacts {
  skill: Skill;
  files: CopiedFile[];
  diagnostics: SkillDiagnostic[];
  /** What it would be in force in place of, in sentences. */
  replaces: string[];
}

const mostShown = 40;
const codeEnding = /\.(?:[cm]?[jt]sx?|py|sh|bash|zsh|rb|pl|php|lua|exe|dll|so|dylib|node|wasm|jar|bat|cmd|ps1)$/i;

export function describeFacts({ skill, files, diagnostics, replaces }: SkillFacts): string {
  const { tools, rules, triggers, plugin, providesTools, requires } = skill;
  const ofKind = (kind: "danger" | "confirm") =>
    rules.filter((rule) => rule.kind === kind).map(({ pattern }) => pattern);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const code = files.filter((file) => file.isExecutable || codeEnding.test(file.path)).map(({ path }) => path);
  const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;
  const lines = [
    `${skill.name}${skill.version === null ? "" : ` ${skill.version}`} — ${skill.description}`,
    `  ${plural(files.length, "file")}, ${Math.ceil(bytes / 1024)} KiB`,
    ...list(
      "Tools",
      tools.map(({ name, description }) => `${name}: ${description}`),
    ),
    ...(providesTools ? ["  More tools turn up while it runs, and what its patterns say of those holds"] : []),
    ...list("Blocks what fits", ofKind("danger")),
    ...list("Asks about what fits", ofKind("confirm")),
    ...(plugin === null ? [] : [pluginLine(skill)]),
    ...list("Its plugin", plugin === null ? [] : describePermissions(skill.permissions)),
    ...list("Files that are code", code),
    ...(triggers.includes("*") && tools.length === 0 && !providesTools
      ? ["! Its text is part of every message, in every conversation"]
      : list("Brought up by", triggers)),
    ...list("Needs the skills", requires),
    ...replaces.map((sentence) => `! ${sentence}`),
    ...list(
      "Findings",
      diagnostics.map(({ line, message }) => (line === 0 ? message : `line ${line}: ${message}`)),
    ),
  ];
  return `${lines.map(onOneLine).join("\n")}\n`;
}

/** What a person must have seen before the skill is added, a line each: `--yes` is no answer to it. */
export function mustBeSeen({ skill }: SkillFacts): string[] {
  const { name, plugin, permissions, providesTools, triggers, tools } = skill;
  const lines = [
    ...(plugin === null ? [] : describePermissions(permissions).map((line) => `its plugin ${line}`)),
    ...(plugin !== null && providesTools ? ["its plugin offers more tools while it runs"] : []),
    ...(triggers.includes("*") && tools.length === 0 && !providesTools ? ["its text is part of every message"] : []),
  ];
  return lines.map((line) => `${name}: ${line}`);
}

function pluginLine({ permissions }: Skill): string {
  const may = describePermissions(permissions).length === 0 ? ", and may only compute and keep data of its own" : ":";
  return `! Has a plugin: its code runs inside a process of its own${may}`;
}

function onOneLine(line: string): string {
  const [indent = ""] = /^ */.exec(line) ?? [];
  return indent + asPlain(line.replaceAll("\n", " "));
}

function list(head: string, entries: string[]): string[] {
  if (entries.length === 0) return [];
  const more = entries.length - mostShown;
  return [
    `  ${head}:`,
    ...entries.slice(0, mostShown).map((entry) => `    ${entry}`),
    ...(more > 0 ? [`    … and ${more} more`] : []),
  ];
}
