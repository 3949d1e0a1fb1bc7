/**
 * `remora skills update [NAMES]` fetches skills again from where they came from, shows what differs, and asks before it
 * replaces them. What an update may do beyond the installed version must be read by a person.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { createTwoFilesPatch } from "diff";
import type { Environment } from "../config/environment.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill } from "../ports/skill.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { type AskQuestion, askFor, isAgreed } from "./ask-on-terminal.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";
import { describeFacts, mustBeSeen, type SkillFacts } from "./skills-facts.ts";
import { type Prepared, prepare, putInPlace } from "./skills-install.ts";
import { digestOf, filesIn, readOrigins, type SkillOrigin, saveOrigins } from "./skills-origins.ts";
import { openSource } from "./skills-source.ts";

interface UpdateOptions {
  yes?: boolean;
}

interface Installed {
  /** The name of its folder in the workspace. */
  folder: string;
  origin: SkillOrigin;
}

const maxDiffLines = 200;
const maxDiffBytes = 256 * 1024;

export async function updateSkillsCommand(
  env: Environment,
  root: string,
  names: string[],
  options: UpdateOptions,
  ask = askFor("skills update"),
): Promise<void> {
  const settings = settingsFor(env, root);
  const skills = join(settings.workspace, "skills");
  const installed = choose(await readOrigins(skills), names);
  const roots = skillRootsOf(settings);
  for (const one of installed) {
    try {
      await update(one, { skills, roots, options, ask });
    } catch (thrown) {
      if (!(thrown instanceof RemoraError)) throw thrown;
      process.stderr.write(`${one.origin.name} was not updated: ${asPlain(messageOf(thrown))}\n`);
      process.exitCode = 1;
    }
  }
}

function choose(origins: Map<string, SkillOrigin>, names: string[]): Installed[] {
  const all = [...origins].map(([folder, origin]) => ({ folder, origin }));
  if (all.length === 0) {
    const message = "no skill was added with skills add, so there is nothing to update";
    throw new RemoraError({ code: "skills.no-origin", place: "skills update", message });
  }
  if (names.length === 0) return all;
  return names.map((name) => {
    const found = all.find(({ folder, origin }) => folder === name || origin.name === name);
    if (found !== undefined) return found;
    const known = all.map(({ origin }) => origin.name).join(", ");
    const message = `where ${asPlain(name)} came from is not known. Known are: ${asPlain(known)}`;
    throw new RemoraError({ code: "skills.no-origin", place: "skills update", message });
  });
}

interface Place {
  skills: string;
  roots: string[];
  options: UpdateOptions;
  ask: AskQuestion;
}

async function update({ folder, origin }: Installed, { skills, roots, options, ask }: Place): Promise<void> {
  const source = await openSource(origin.source);
  const aside = await mkdtemp(join(skills, ".updating-"));
  try {
    const present = await loadSkills(roots);
    const offered = await loadSkills([...roots, ...source.roots]);
    const from = offered.skills.find((skill) => skill.folder === join(source.folder, origin.path));
    if (from === undefined) {
      const message = `it is no longer at ${origin.path} there, or can't be loaded`;
      throw new RemoraError({ code: "skills.gone", place: asPlain(source.shown), message });
    }
    const [prepared] = await prepare([from], { aside, skills, roots, present });
    const target = join(skills, folder);
    if (prepared === undefined || prepared.folder !== target) {
      const message = `it is called ${from.name} there now. Add it under its new name, and remove this one`;
      throw new RemoraError({ code: "skills.renamed", place: asPlain(source.shown), message });
    }
    const next: SkillOrigin = {
      ...origin,
      ...(source.commit === undefined ? {} : { commit: source.commit }),
      ...{ addedAt: new Date().toISOString(), digest: await digestOf(prepared.aside) },
    };
    const now = await digestOf(target).catch(() => undefined);
    if (now === next.digest) {
      await saveOrigins(skills, [{ folder, origin: next }]);
      process.stdout.write(`${asPlain(origin.name)} is up to date.\n`);
      return;
    }
    const old = present.skills.find((skill) => skill.folder === target);
    process.stdout.write(`${await describeUpdate(prepared, target, old)}\n`);
    if (now !== undefined && now !== origin.digest)
      process.stdout.write("! Its files were changed here. The update replaces them, and keeps a backup.\n");
    if (!(await isAllowed(prepared, old, options, ask))) {
      process.stdout.write(`${asPlain(origin.name)} stays as it is.\n`);
      return;
    }
    process.stdout.write(`${await putInPlace(prepared, skills)}\n`);
    await saveOrigins(skills, [{ folder: basename(target), origin: next }]);
  } finally {
    await rm(aside, { recursive: true, force: true });
    await source.remove();
  }
}

/** What the new version may do and the old one may not. */
function newRights(next: Prepared, old: Skill | undefined): string[] {
  const before = new Set(old === undefined ? [] : mustBeSeen(factsOf(old)));
  const had = new Set(old?.tools.map(({ name }) => name));
  const rules = (skill: Skill) => skill.rules.map(({ kind, pattern }) => `${kind} ${pattern}`);
  const kept = new Set(rules(next.skill));
  return [
    ...mustBeSeen(next).filter((line) => !before.has(line)),
    ...next.skill.tools.filter(({ name }) => !had.has(name)).map(({ name }) => `it has a new tool ${name}`),
    ...next.skill.tools.flatMap((tool) =>
      looserThan(
        old?.tools.find(({ name }) => name === tool.name),
        tool,
      ),
    ),
    ...(old === undefined ? [] : rules(old))
      .filter((rule) => !kept.has(rule))
      .map((rule) => `it drops the pattern ${rule}`),
    ...(next.skill.plugin !== null && old?.plugin === null ? ["it has a plugin now, whose code runs"] : []),
  ];
}

/** A tool that declares less about itself is asked about less often. */
function looserThan(before: ToolSpec | undefined, tool: ToolSpec): string[] {
  if (before === undefined) return [];
  const unread = before.shellParameters.filter((parameter) => !tool.shellParameters.includes(parameter));
  return [
    ...(tool.isReadOnly && !before.isReadOnly ? ["now counts as only reading"] : []),
    ...(tool.isIdempotent && !before.isIdempotent ? ["may now be repeated after a crash"] : []),
    ...(before.isOutward && !tool.isOutward ? ["no longer counts as sending something"] : []),
    ...(before.readsUntrusted && !tool.readsUntrusted ? ["no longer counts as reading other people's text"] : []),
    ...(before.folder !== tool.folder ? [`declares folder: ${tool.folder}, and not ${before.folder}`] : []),
    ...unread.map((parameter) => `no longer has its parameter ${parameter} read as a command`),
  ].map((change) => `its tool ${tool.name} ${change}`);
}

function factsOf(skill: Skill): SkillFacts {
  return { skill, files: [], diagnostics: [], replaces: [] };
}

async function isAllowed(
  next: Prepared,
  old: Skill | undefined,
  { yes }: UpdateOptions,
  ask: AskQuestion,
): Promise<boolean> {
  const rights = newRights(next, old).map(asPlain);
  for (const line of rights) process.stdout.write(`! ${line}\n`);
  if (yes === true && rights.length === 0) return true;
  if (yes === true) {
    const message =
      "the new version may do more than the old one, so --yes is refused. Leave it out, and answer on a terminal";
    throw new RemoraError({ code: "skills.unseen", place: "skills update", message });
  }
  return await isAgreed(`Update ${asPlain(next.skill.name)}?`, ask);
}

async function describeUpdate(next: Prepared, target: string, old: Skill | undefined): Promise<string> {
  const paths = [...new Set([...(await filesIn(target).catch(() => [])), ...(await filesIn(next.aside))])].sort();
  const parts: string[] = [];
  for (const path of paths) {
    const [before, after] = await Promise.all([readText(join(target, path)), readText(join(next.aside, path))]);
    if (before !== after) parts.push(diffOf(path, before, after));
  }
  const lines = parts.join("").trimEnd().split("\n").map(asPlain);
  const more = lines.length - maxDiffLines;
  const version = old?.version === next.skill.version ? "" : ` ${old?.version ?? "?"} → ${next.skill.version ?? "?"}`;
  return [
    asPlain(`${next.skill.name}${version}`),
    ...lines.slice(0, maxDiffLines),
    ...(more > 0 ? [`… and ${more} more lines`] : []),
    "",
    describeFacts(next),
  ].join("\n");
}

function diffOf(path: string, before: string | undefined, after: string | undefined): string {
  if (before?.includes("\0") || after?.includes("\0") || (before ?? after ?? "").length > maxDiffBytes)
    return `${before === undefined ? "Added" : after === undefined ? "Removed" : "Changed"} ${path}\n`;
  const patch = createTwoFilesPatch(`old/${path}`, `new/${path}`, before ?? "", after ?? "", "", "", { context: 2 });
  return patch.replace(/^=+\n/, "");
}

async function readText(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(() => undefined);
}
