/** Copies skills aside, reads the copies, and moves them into the workspace in one step. Keeps what they replace. */
import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { RemoraError } from "../lib/errors.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill, SkillSet } from "../ports/skill.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { type CopiedFile, copySkill } from "./skills-copy.ts";
import type { SkillFacts } from "./skills-facts.ts";

const maxFolderNameCharacters = 64;

export interface Prepared extends SkillFacts {
  /** Where the source has it. */
  from: string;
  aside: string;
  folder: string;
}

interface Place {
  aside: string;
  skills: string;
  roots: string[];
  present: SkillSet;
}

/** Reads the copies, because these are the files that the agent will load. */
export async function prepare(wanted: Skill[], { aside, skills, roots, present }: Place): Promise<Prepared[]> {
  const copied = new Map<string, { from: Skill; files: CopiedFile[] }>();
  for (const from of wanted) {
    const name = folderName(from);
    if (copied.has(name)) {
      const message = `two of these skills need the folder ${name}: add them one by one`;
      throw new RemoraError({ code: "skills.taken", place: from.path, message });
    }
    copied.set(name, { from, files: await copySkill(from.folder, join(aside, name)) });
  }
  const set = await loadSkills([...roots, aside]);
  return [...copied].map(([name, { from, files }]): Prepared => {
    const copy = join(aside, name);
    const diagnostics = set.diagnostics.filter(({ path }) => path.startsWith(join(copy, sep)));
    const skill = set.skills.find((one) => one.folder === copy);
    if (skill === undefined) {
      const message = `it can't be loaded here: ${diagnostics.map((one) => one.message).join("; ")}`;
      throw new RemoraError({ code: "skills.refused", place: from.path, message });
    }
    const folder = join(skills, name);
    return {
      skill,
      files,
      diagnostics,
      replaces: replacedBy(skill, folder, present),
      from: from.folder,
      aside: copy,
      folder,
    };
  });
}

function folderName({ name, folder }: Skill): string {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, maxFolderNameCharacters);
  return plain(name) || plain(basename(folder)) || "skill";
}

function replacedBy(skill: Skill, folder: string, { skills }: SkillSet): string[] {
  const same = skills.filter((other) => [other.name, ...other.aliases].includes(skill.name) || other.folder === folder);
  const others = skills.filter((other) => !same.includes(other));
  const tools = skill.tools.flatMap(({ name }) => {
    const owner = others.find((other) => other.tools.some((tool) => tool.name === name));
    return owner === undefined ? [] : [`Its tool ${name} replaces the tool of the skill ${owner.name}`];
  });
  const sentences = same.map(({ name, path, rules }) => {
    const lost = rules.length === 0 ? "" : `, and its ${rules.length} patterns would no longer apply`;
    return `It replaces the skill ${name} at ${path}${lost}`;
  });
  return [...sentences, ...tools];
}

/** Renames the folder so that the agent never sees half a skill. */
export async function putInPlace({ skill, aside, folder }: Prepared, skills: string): Promise<string> {
  const shown = relative(process.cwd(), folder);
  if (!existsSync(folder)) {
    await rename(aside, folder);
    return `Added ${asPlain(skill.name)}: ${shown}.`;
  }
  const backup = await moveToBackup(folder, skills);
  try {
    await rename(aside, folder);
  } catch (thrown) {
    await rename(backup, folder);
    throw thrown;
  }
  return `Added ${asPlain(skill.name)}: ${shown}. The old one is in ${relative(process.cwd(), backup)}.`;
}

/** A skill of the same name in another folder can take precedence over the new one. */
export async function describeState(prepared: Prepared[], roots: string[]): Promise<string> {
  const set = await loadSkills(roots);
  const missing = prepared.filter(({ folder }) => !set.skills.some((skill) => skill.folder === folder));
  if (missing.length === 0) return "A running agent uses them from its next step on.\n";
  const lines = missing.map(({ skill, folder }) => {
    const why = set.diagnostics.filter(({ path }) => path.startsWith(join(folder, sep))).map(({ message }) => message);
    return `${skill.name} is not loaded: ${why.join("; ")}`;
  });
  return `${asPlain(lines.join("\n"))}\n`;
}

/** Resolves to the backup's path. The loader ignores hidden folders. */
export async function moveToBackup(folder: string, skills: string): Promise<string> {
  const backup = join(skills, ".backup", `${basename(folder)}-${new Date().toISOString().replace(/[:.]/g, "-")}`);
  await mkdir(join(skills, ".backup"), { recursive: true });
  await rename(folder, backup);
  return backup;
}
