/**
 * `remora skills add SOURCE` copies other people's skills into the workspace:
 *
 *   1. open the source (skills-source.ts) and read its skills; none of their code ever runs here
 *   2. copy the chosen skills to a folder in the workspace that the loader ignores (skills-copy.ts)
 *   3. show what each skill may do (skills-facts.ts), and ask a person
 *   4. move each copy into place in one step; a replaced skill is kept as a backup
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill, SkillSet } from "../ports/skill.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { askFor, isAgreed } from "./ask-on-terminal.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";
import { describeFacts, mustBeSeen } from "./skills-facts.ts";
import { describeState, type Prepared, prepare, putInPlace } from "./skills-install.ts";
import { digestOf, saveOrigins } from "./skills-origins.ts";
import { openSource, type SkillSource } from "./skills-source.ts";

const maxListedProblems = 10;

export interface AddOptions {
  skill?: string[];
  all?: boolean;
  yes?: boolean;
  force?: boolean;
}

export async function addSkillsCommand(
  env: Environment,
  root: string,
  written: string,
  options: AddOptions,
  ask = askFor("skills add"),
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
    if (!options.yes && !(await isAgreed(`Add ${what}?`, ask))) {
      process.stdout.write("Nothing was added.\n");
      process.exitCode = 1;
      return;
    }
    for (const one of prepared) process.stdout.write(`${await putInPlace(one, skills)}\n`);
    await saveOrigins(skills, await Promise.all(prepared.map((one) => originOf(one, source))));
    process.stdout.write(await describeState(prepared, skillRootsOf(settings)));
  } finally {
    await rm(aside, { recursive: true, force: true });
    await source.remove();
  }
}

async function originOf({ from, folder, skill }: Prepared, { folder: top, shown, commit }: SkillSource) {
  const origin = {
    ...{ name: skill.name, source: shown, path: relative(top, from) || "." },
    ...(commit === undefined ? {} : { commit }),
    ...{ addedAt: new Date().toISOString(), digest: await digestOf(folder) },
  };
  return { folder: basename(folder), origin };
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
