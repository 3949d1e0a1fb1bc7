/**
 * Limits what an agent may write in a skill, even with approval, to instructions and text files beside them. Fields
 * that control code or approvals must not change, because a person may overlook one line of a card. Names of skills
 * from elsewhere are refused, because the new skill would replace the other one and its patterns.
 */
import { join, sep } from "node:path";
import type { PluginSkills, Skill, SkillDiagnostic } from "../../src/plugin-sdk/plugin.ts";

export const mainFile = "SKILL.md";

const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** Excludes hidden files and `..`. */
const pathPart = /^[A-Za-z0-9_][A-Za-z0-9._ -]*$/;
const deepest = 4;

export function nameRefusal(name: string, folder: string, skills: PluginSkills): string | undefined {
  if (!skillName.test(name) || name.length > 64)
    return "A skill's name is at most 64 of a-z 0-9, with single hyphens between them.";
  const all = skills.all();
  const known = all.find((skill) => skill.folder !== folder && (skill.name === name || skill.aliases.includes(name)));
  if (known !== undefined)
    return `A skill ${known.name} already exists at ${known.path}, and tools may not write it: choose another name, or tell the person where it is.`;
  // A SKILL.md in this folder would hide the skills below it, with their patterns.
  const below = all.find((skill) => skill.folder.startsWith(join(folder, sep)));
  return below === undefined ? undefined : `${name} is a folder with other skills in it: choose another name.`;
}

export function fileRefusal(file: string, folder: string, skills: PluginSkills): string | undefined {
  if (file === mainFile) return undefined;
  const parts = file.split("/");
  if (parts.length > deepest || parts.some((part) => !pathPart.test(part) || /[. ]$/.test(part)))
    return `${JSON.stringify(file)} is not a valid path for a skill's file: use plain names, at most ${deepest}, with / between, such as templates/report.md.`;
  const names = parts.map((part) => part.toLowerCase());
  if (/^plugin(?:\.|$)/.test(names[0] ?? "")) return "Only people may install a skill's code.";
  if (names.at(-1) === "skill.md") return "A skill has one SKILL.md: omit file to write it.";
  if (names.includes("node_modules")) return "A skill's files can't be in node_modules.";
  const owner = skills.all().find((skill) => skill.folder === folder);
  if (owner === undefined || owner.plugin === null) return undefined;
  return `The skill ${owner.name} has code, and its files may belong to that code: only people may change them.`;
}

interface NewText {
  file: string;
  folder: string;
  before: string | undefined;
  after: string;
}

export function textRefusal({ file, folder, before, after }: NewText, skills: PluginSkills): string | undefined {
  if (after === before) return "nothing would change.";
  if (after.includes("\0")) return "it contains a NUL character.";
  if (file !== mainFile) return undefined;
  const path = join(folder, mainFile);
  const { skill, diagnostics } = skills.read(after, path);
  if (skill === undefined || diagnostics.length > 0)
    return `the loader reports problems.\n${diagnostics.map((one) => `- ${describe(one)}`).join("\n")}`;
  if (skill.aliases.length > 0) return `its name must match its folder, ${skill.aliases.join(", ")}.`;
  const known =
    (before === undefined ? undefined : skills.read(before, path).skill) ??
    skills.all().find((one) => one.folder === folder);
  return decisionRefusal(skill, known);
}

export function describe({ line, message }: SkillDiagnostic): string {
  return line === 0 ? message : `line ${line}: ${message}`;
}

function decisionRefusal(skill: Skill, before: Skill | undefined): string | undefined {
  const changed = Object.entries(decisionsOf(skill)).flatMap(([field, value]) => {
    const old =
      before === undefined
        ? "[]"
        : JSON.stringify(Object.entries(decisionsOf(before)).find(([key]) => key === field)?.[1]);
    return JSON.stringify(value) === old ? [] : [field];
  });
  if (changed.length === 0) return undefined;
  return `${changed.join(" and ")} may not be ${before === undefined ? "there" : "changed"}. Only people may change these fields, in ${skill.path}.`;
}

/** Returns the fields of a skill that only people may change, regardless of their order in the file. */
function decisionsOf({ tools, rules, gateTests, requires, providesTools, triggers }: Skill) {
  const patterns = (kind: "danger" | "confirm") =>
    rules.filter((rule) => rule.kind === kind).map(({ pattern, reason }) => [pattern, reason ?? null]);
  return {
    tools,
    danger_patterns: patterns("danger"),
    confirm_patterns: patterns("confirm"),
    gate_tests: gateTests.map(({ tool, args, want }) => [tool, args, want]),
    // Adding a missing requirement would unload this skill and its dependents, and thereby their patterns.
    requires,
    provides_tools: providesTools ? [true] : [],
    'the trigger "*"': triggers.includes("*") ? ["*"] : [],
  };
}
