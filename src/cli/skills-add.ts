/**
 * `remora skills add SOURCE` copies other people's skills into the workspace:
 *
 *   1. open the source (skills-source.ts) and read its skills; none of their code ever runs here
 *   2. copy the chosen skills to a folder in the workspace that the loader ignores (skills-copy.ts)
 *   3. show what each skill may do (skills-facts.ts), and ask a person
 *   4. move each copy into place in one step; a replaced skill is kept as a backup
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill, SkillSet } from "../ports/skill.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";
import { type CopiedFile, copySkill } from "./skills-copy.ts";
import { describeFacts, mustBeSeen, type SkillFacts } from "./skills-facts.ts";
import { openSource, type SkillSource } from "./skills-source.ts";

const maxListedProblems = 10;
const maxFolderNameCharacters = 64;

export interface AddOptions {
  skill?: string[];
  all?: boolean;
  yes?: boolean;
  force?: boolean;
}

interface Prepared extends SkillFacts {
  aside: string;
  folder: string;
}

export async function addSkillsCommand(
  env: Environment,
  root: string,
  written: string,
  options: AddOptions,
  ask: (question: string) => Promise<string> = askOnTerminal,
): Promise<void> {
  const settings = settingsFor(env, root);
  const roots = skillRootsOf(settings);
  const source = await openSource(written);
  const skills = join(settings.workspace, "skills");
  await mkdir(skills, { recursive: true });
  const aside = await mkdtemp(join(skills, ".adding-"));
  try {
    const present = await loadSkills(roots);
    const wanted = choose(await loadSkills([...roots, ...source.roots]), source, options);
    const prepared = await prepare(wanted, { aside, skills, roots, present });
    process.stdout.write(`From ${asPlain(source.shown)}:\n\n${prepared.map(describeFacts).join("\n")}\n`);
    refuseClashes(prepared, options);
    refuseUnseen(prepared, options);
    const what = prepared.length === 1 ? "this skill" : `these ${prepared.length} skills`;
    if (!options.yes && !/^y(?:es)?$/i.test((await ask(`Add ${what}? [y/N] `)).trim())) {
      process.stdout.write("Nothing was added.\n");
      process.exitCode = 1;
      return;
    }
    for (const one of prepared) process.stdout.write(`${await putInPlace(one, skills)}\n`);
    process.stdout.write(await describeState(prepared, skillRootsOf(settings)));
  } finally {
    await rm(aside, { recursive: true, force: true });
    await source.remove();
  }
}

/** `set` includes installed skills, because new skills may require them. */
function choose(set: SkillSet, { roots, shown }: SkillSource, options: AddOptions): Skill[] {
  const isFromHere = (path: string) => roots.some((root) => path === root || path.startsWith(join(root, sep)));
  const skills = set.skills.filter(({ folder }) => isFromHere(folder));
  const problem = (code: string, message: string) => new RemoraError({ code, place: asPlain(shown), message });
  if (skills.length === 0) {
    const found = set.diagnostics.filter(({ path }) => isFromHere(path)).slice(0, maxListedProblems);
    const why = found.map(({ path, line, message }) => `\n  ${asPlain(`${path}:${line} ${message}`)}`);
    throw problem("skills.none", `it has no skill that can be loaded${why.join("")}`);
  }
  const names = asPlain(skills.map((skill) => skill.name).join(", "));
  if (options.skill !== undefined) {
    return options.skill.map((name) => {
      const found = skills.find((skill) => skill.name === name || skill.aliases.includes(name));
      if (found === undefined) throw problem("skills.unknown", `it has no skill ${name}. It has: ${names}`);
      return found;
    });
  }
  if (skills.length === 1 || options.all === true) return skills;
  throw problem("skills.several", `it has several skills: ${names}. Choose with --skill NAME, or use --all`);
}

interface Place {
  aside: string;
  skills: string;
  roots: string[];
  present: SkillSet;
}

/** Reads the copies, because these are the files that the agent will load. */
async function prepare(wanted: Skill[], { aside, skills, roots, present }: Place): Promise<Prepared[]> {
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
    return { skill, files, diagnostics, replaces: replacedBy(skill, folder, present), aside: copy, folder };
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

function refuseClashes(prepared: Prepared[], options: AddOptions): void {
  const clashing = prepared.filter(({ replaces, folder }) => replaces.length > 0 || existsSync(folder));
  if (clashing.length === 0 || options.force === true) return;
  const names = clashing.map(({ skill }) => skill.name).join(", ");
  const why = clashing.flatMap(({ replaces, folder }) =>
    replaces.length > 0 ? replaces : [`${folder} already exists`],
  );
  throw new RemoraError({
    code: "skills.taken",
    place: names,
    message: `would replace existing files. ${why.join(". ")}. --force replaces them and keeps a backup of files in the workspace`,
  });
}

function refuseUnseen(prepared: Prepared[], options: AddOptions): void {
  const unseen = prepared.flatMap(mustBeSeen);
  if (unseen.length === 0 || options.yes !== true) return;
  throw new RemoraError({
    code: "skills.unseen",
    place: "skills add",
    message: `a person must read what these skills declare, so --yes is refused. Leave it out, and answer on a terminal. ${asPlain(unseen.join("; "))}`,
  });
}

async function askOnTerminal(question: string): Promise<string> {
  if (!process.stdin.isTTY) {
    const message = "there is no terminal to ask on: read the above, then use --yes";
    throw new RemoraError({ code: "skills.unasked", place: "skills add", message });
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

/** Renames the folder so that the agent never sees half a skill. */
async function putInPlace({ skill, aside, folder }: Prepared, skills: string): Promise<string> {
  const shown = relative(process.cwd(), folder);
  if (!existsSync(folder)) {
    await rename(aside, folder);
    return `Added ${asPlain(skill.name)}: ${shown}.`;
  }
  const backup = join(skills, ".backup", `${basename(folder)}-${new Date().toISOString().replace(/[:.]/g, "-")}`);
  await mkdir(join(skills, ".backup"), { recursive: true });
  await rename(folder, backup);
  try {
    await rename(aside, folder);
  } catch (thrown) {
    await rename(backup, folder);
    throw thrown;
  }
  return `Added ${asPlain(skill.name)}: ${shown}. The old one is in ${relative(process.cwd(), backup)}.`;
}

/** A skill of the same name in another folder can take precedence over the new one. */
async function describeState(prepared: Prepared[], roots: string[]): Promise<string> {
  const set = await loadSkills(roots);
  const missing = prepared.filter(({ folder }) => !set.skills.some((skill) => skill.folder === folder));
  if (missing.length === 0) return "A running agent uses them from its next step on.\n";
  const lines = missing.map(({ skill, folder }) => {
    const why = set.diagnostics.filter(({ path }) => path.startsWith(join(folder, sep))).map(({ message }) => message);
    return `${skill.name} is not loaded: ${why.join("; ")}`;
  });
  return `${asPlain(lines.join("\n"))}\n`;
}
