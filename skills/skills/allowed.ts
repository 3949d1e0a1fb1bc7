/**
 * What an agent may write of a skill, whoever approves it: instructions, and texts beside them.
 *
 * Never what decides which code runs and what is asked about: a plugin, tools, patterns. A person who reads a card may
 * miss one line of it. Neither a skill that came from elsewhere: one of the same name in the workspace would be in force in its place, without its patterns.
 */
import { join, sep } from "node:path";
import type { PluginSkills, Skill, SkillDiagnostic } from "../../src/plugin-sdk/plugin.ts";

export const mainFile = "SKILL.md";

const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** No hidden files, and nothing that only looks like one path. */
const pathPart = /^[A-Za-z0-9_][A-Za-z0-9._ -]*$/;
const deepest = 4;

/** A sentence when no skill of this name may be written. */
export function nameRefusal(name: string, folder: string, skills: PluginSkills): string | undefined {
  if (!skillName.test(name) || name.length > 64)
    return "A skill's name is up to 64 of a-z 0-9, with single hyphens between.";
  const all = skills.all();
  const known = all.find((skill) => skill.folder !== folder && (skill.name === name || skill.aliases.includes(name)));
  if (known !== undefined)
    return `There is a skill ${known.name} already, at ${known.path}, and it is not one that tools may write: choose another name, or tell the person where it is.`;
  // With a SKILL.md above them they would not be found any more, and neither would their patterns.
  const below = all.find((skill) => skill.folder.startsWith(join(folder, sep)));
  return below === undefined ? undefined : `${name} is a folder with other skills in it: choose another name.`;
}

/** A sentence when this file of the skill may not be written. */
export function fileRefusal(file: string, folder: string, skills: PluginSkills): string | undefined {
  if (file === mainFile) return undefined;
  const parts = file.split("/");
  if (parts.length > deepest || parts.some((part) => !pathPart.test(part) || /[. ]$/.test(part)))
    return `${JSON.stringify(file)} is no path for a file of a skill: plain names, at most ${deepest} with / between, such as templates/report.md.`;
  const names = parts.map((part) => part.toLowerCase());
  if (/^plugin(?:\.|$)/.test(names[0] ?? "")) return "A skill's code is installed by people, never by the agent.";
  if (names.at(-1) === "skill.md") return "A skill has one SKILL.md: leave file out to write it.";
  if (names.includes("node_modules")) return "node_modules is no place for a skill's files.";
  const owner = skills.all().find((skill) => skill.folder === folder);
  if (owner === undefined || owner.plugin === null) return undefined;
  return `The skill ${owner.name} has code, and the files beside it may be part of that: they are for people to change.`;
}

interface NewText {
  file: string;
  folder: string;
  before: string | undefined;
  after: string;
}

/** A sentence when the text may not stand there. */
export function textRefusal({ file, folder, before, after }: NewText, skills: PluginSkills): string | undefined {
  if (after === before) return "it would be as it was.";
  if (after.includes("\0")) return "it holds a NUL character.";
  if (file !== mainFile) return undefined;
  const path = join(folder, mainFile);
  const { skill, diagnostics } = skills.read(after, path);
  if (skill === undefined || diagnostics.length > 0)
    return `the loader has something to say about it.\n${diagnostics.map((one) => `- ${describe(one)}`).join("\n")}`;
  if (skill.aliases.length > 0) return `its name must be that of its folder, ${skill.aliases.join(", ")}.`;
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
  return `${changed.join(" and ")} may not be ${before === undefined ? "there" : "changed"}: what runs, what is asked about and what every message brings up is for people to write, in ${skill.path}.`;
}

/** Where they are written does not count; what they say does. */
function decisionsOf({ tools, rules, gateTests, requires, providesTools, triggers }: Skill) {
  const patterns = (kind: "danger" | "confirm") =>
    rules.filter((rule) => rule.kind === kind).map(({ pattern, reason }) => [pattern, reason ?? null]);
  return {
    tools,
    danger_patterns: patterns("danger"),
    confirm_patterns: patterns("confirm"),
    gate_tests: gateTests.map(({ tool, args, want }) => [tool, args, want]),
    // A skill that lacks what it requires is not loaded, and neither are those that require it: their patterns would be gone.
    requires,
    provides_tools: providesTools ? [true] : [],
    'the trigger "*"': triggers.includes("*") ? ["*"] : [],
  };
}
