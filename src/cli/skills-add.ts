/**
 * `remora skills add SOURCE`: skills of somebody else, copied into the workspace:
 *
 *   1. the source is opened (skills-source.ts) and its skills are read; none of their code ever runs here
 *   2. each that is wanted is copied aside (skills-copy.ts), in the workspace and out of the loader's sight
 *   3. what each may do is shown (skills-facts.ts), and a person says yes
 *   4. each copy is moved into place at once; a skill that it replaces is kept as a backup
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

export interface AddOptions {
  skill?: string[];
  all?: boolean;
  yes?: boolean;
  force?: boolean;
}

/** A skill, copied aside. */
interface Prepared extends SkillFacts {
  /** The copy, and where it belongs. */
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

/** Read beside the present skills, which they may require. */
function choose(set: SkillSet, { roots, shown }: SkillSource, options: AddOptions): Skill[] {
  const isFromHere = (path: string) => roots.some((root) => path === root || path.startsWith(join(root, sep)));
  const skills = set.skills.filter(({ folder }) => isFromHere(folder));
  const problem = (code: string, message: string) => new RemoraError({ code, place: asPlain(shown), message });
  if (skills.length === 0) {
    const found = set.diagnostics.filter(({ path }) => isFromHere(path)).slice(0, 10);
    const why = found.map(({ path, line, message }) => `\n  ${asPlain(`${path}:${line} ${message}`)}`);
    throw problem("skills.none", `there is no skill in it that can be loaded${why.join("")}`);
  }
  const names = asPlain(skills.map((skill) => skill.name).join(", "));
  if (options.skill !== undefined) {
    return options.skill.map((name) => {
      const found = skills.find((skill) => skill.name === name || skill.aliases.includes(name));
      if (found === undefined) throw problem("skills.unknown", `there is no skill ${name} in it. There are: ${names}`);
      return found;
    });
  }
  if (skills.length === 1 || options.all === true) return skills;
  throw problem("skills.several", `there are several skills in it: ${names}. Choose with --skill NAME, or take --all`);
}

interface Place {
  aside: string;
  /** The workspace's folder of skills. */
  skills: string;
  roots: string[];
  present: SkillSet;
}

/** The copies are what will be in force, so that they are what is read, shown and asked about. */
async function prepare(wanted: Skill[], { aside, skills, roots, present }: Place): Promise<Prepared[]> {
  const copied = new Map<string, { from: Skill; files: CopiedFile[] }>();
  for (const from of wanted) {
    const name = folderName(from);
    if (copied.has(name)) {
      const message = `two of these skills would be in the folder ${name}: add them one by one`;
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

/** The skill's name where it can be a folder's, else something like it. */
function folderName({ name, folder }: Skill): string {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 64);
  return plain(name) || plain(basename(folder)) || "skill";
}

function replacedBy(skill: Skill, folder: string, { skills }: SkillSet): string[] {
  const same = skills.filter((other) => [other.name, ...other.aliases].includes(skill.name) || other.folder === folder);
  const others = skills.filter((other) => !same.includes(other));
  const tools = skill.tools.flatMap(({ name }) => {
    const owner = others.find((other) => other.tools.some((tool) => tool.name === name));
    return owner === undefined ? [] : [`Its tool ${name} comes in place of the one of the skill ${owner.name}`];
  });
  const sentences = same.map(({ name, path, rules }) => {
    const lost = rules.length === 0 ? "" : `, and its ${rules.length} patterns would be gone`;
    return `There is a skill ${name} at ${path}: it would not be in force any more${lost}`;
  });
  return [...sentences, ...tools];
}

function refuseClashes(prepared: Prepared[], options: AddOptions): void {
  const clashing = prepared.filter(({ replaces, folder }) => replaces.length > 0 || existsSync(folder));
  if (clashing.length === 0 || options.force === true) return;
  const names = clashing.map(({ skill }) => skill.name).join(", ");
  const why = clashing.flatMap(({ replaces, folder }) =>
    replaces.length > 0 ? replaces : [`${folder} is there already`],
  );
  throw new RemoraError({
    code: "skills.taken",
    place: names,
    message: `would replace what is there. ${why.join(". ")}. With --force it does; what it replaces in the workspace is kept as a backup`,
  });
}

/** `--yes` answers for a person who has not read what is shown. */
function refuseUnseen(prepared: Prepared[], options: AddOptions): void {
  const unseen = prepared.flatMap(mustBeSeen);
  if (unseen.length === 0 || options.yes !== true) return;
  throw new RemoraError({
    code: "skills.unseen",
    place: "skills add",
    message: `a person has to see what is declared, so --yes is refused. Leave it out and answer on a terminal. ${asPlain(unseen.join("; "))}`,
  });
}

/** On the terminal; where there is none nobody has said yes. */
async function askOnTerminal(question: string): Promise<string> {
  if (!process.stdin.isTTY) {
    const message = "nobody can be asked here: look at what is shown above, and say --yes";
    throw new RemoraError({ code: "skills.unasked", place: "skills add", message });
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

/** One rename each: there is no moment with half a skill. */
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
  return `Added ${asPlain(skill.name)}: ${shown}. What was there is in ${relative(process.cwd(), backup)}.`;
}

/** As the agent would have them now: another folder may have a skill of that name that goes before it. */
async function describeState(prepared: Prepared[], roots: string[]): Promise<string> {
  const set = await loadSkills(roots);
  const missing = prepared.filter(({ folder }) => !set.skills.some((skill) => skill.folder === folder));
  if (missing.length === 0) return "A running agent has what was added from its next step on.\n";
  const lines = missing.map(({ skill, folder }) => {
    const why = set.diagnostics.filter(({ path }) => path.startsWith(join(folder, sep))).map(({ message }) => message);
    return `${skill.name} is not in force: ${why.join("; ")}`;
  });
  return `${asPlain(lines.join("\n"))}\n`;
}
