/** Describes a skill on the terminal before it is added. Nothing in the skill can hide or change this text. */
import { counted } from "../lib/text/counted.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill, SkillDiagnostic } from "../ports/skill.ts";
import { describePermissions } from "../skill-runtime/parse/permissions.ts";
import type { CopiedFile } from "./skills-copy.ts";

export interface SkillFacts {
  skill: Skill;
  files: CopiedFile[];
  diagnostics: SkillDiagnostic[];
  replaces: string[];
}

const maxListed = 40;
const codeEnding = /\.(?:[cm]?[jt]sx?|py|sh|bash|zsh|rb|pl|php|lua|exe|dll|so|dylib|node|wasm|jar|bat|cmd|ps1)$/i;

export function describeFacts({ skill, files, diagnostics, replaces }: SkillFacts): string {
  const { tools, rules, triggers, plugin, providesTools, requires } = skill;
  const ofKind = (kind: "danger" | "confirm") =>
    rules.filter((rule) => rule.kind === kind).map(({ pattern }) => pattern);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const code = files.filter((file) => file.isExecutable || codeEnding.test(file.path)).map(({ path }) => path);
  const lines = [
    `${skill.name}${skill.version === null ? "" : ` ${skill.version}`} — ${skill.description}`,
    `  ${counted(files.length, "file")}, ${Math.ceil(bytes / 1024)} KiB`,
    ...list(
      "Tools",
      tools.map(({ name, description }) => `${name}: ${description}`),
    ),
    ...(providesTools ? ["  Offers more tools while it runs, under the same patterns"] : []),
    ...list("Blocks calls that match", ofKind("danger")),
    ...list("Asks about calls that match", ofKind("confirm")),
    ...(plugin === null ? [] : [pluginLine(skill)]),
    ...list("Its plugin", plugin === null ? [] : describePermissions(skill.permissions)),
    ...list("Code files", code),
    ...(triggers.includes("*") && tools.length === 0 && !providesTools
      ? ["! Its text is part of every prompt, in every conversation"]
      : list("Triggers", triggers)),
    ...list("Requires the skills", requires),
    ...replaces.map((sentence) => `! ${sentence}`),
    ...list(
      "Findings",
      diagnostics.map(({ line, message }) => (line === 0 ? message : `line ${line}: ${message}`)),
    ),
  ];
  return `${lines.map(onOneLine).join("\n")}\n`;
}

/** Facts that a person must read, so `--yes` does not skip their confirmation. */
export function mustBeSeen({ skill }: SkillFacts): string[] {
  const { name, plugin, permissions, providesTools, triggers, tools } = skill;
  const lines = [
    ...(plugin === null ? [] : describePermissions(permissions).map((line) => `its plugin ${line}`)),
    ...(plugin !== null && providesTools ? ["its plugin offers more tools while it runs"] : []),
    ...(triggers.includes("*") && tools.length === 0 && !providesTools ? ["its text is part of every prompt"] : []),
  ];
  return lines.map((line) => `${name}: ${line}`);
}

function pluginLine({ permissions }: Skill): string {
  const may = describePermissions(permissions).length === 0 ? " and may only compute and keep its own data" : ":";
  return `! Has a plugin: its code runs in its own process${may}`;
}

function onOneLine(line: string): string {
  const [indent = ""] = /^ */.exec(line) ?? [];
  return indent + asPlain(line.replaceAll("\n", " "));
}

function list(head: string, entries: string[]): string[] {
  if (entries.length === 0) return [];
  const more = entries.length - maxListed;
  return [
    `  ${head}:`,
    ...entries.slice(0, maxListed).map((entry) => `    ${entry}`),
    ...(more > 0 ? [`    … and ${more} more`] : []),
  ];
}
