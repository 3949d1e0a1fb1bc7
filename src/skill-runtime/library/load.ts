/** Loads every skill below the given roots. A problem in a file is reported as a diagnostic, never thrown. */
import { readFile, stat } from "node:fs/promises";
import PQueue from "p-queue";
import { codeOf, messageOf } from "../../lib/errors.ts";
import type { Skill, SkillDiagnostic, SkillSet, SkillVerdict } from "../../ports/skill.ts";
import { diagnosticOf } from "../parse/diagnostics.ts";
import { type ParsedSkill, parseSkill } from "../parse/parse-skill.ts";
import { findSkills, type SkillFile } from "./find.ts";
import { chooseSkills, type LoadedSkill } from "./precedence.ts";

/** State from earlier loads. Unchanged files are not read again, and broken files keep their previous content. */
export interface RememberedFile {
  stamp: string;
  parsed: ParsedSkill;
  lastGood: Skill | undefined;
}

export interface LoadOptions {
  /** By path of the SKILL.md. The caller keeps the map between loads, and each load removes deleted files. */
  memory?: Map<string, RememberedFile>;
}

/** The report on one SKILL.md, as printed by `remora skills check --json`. */
export interface SkillReport {
  path: string;
  name: string | null;
  verdict: SkillVerdict;
  /** False for skipped files, and for valid skills whose name is taken or whose `requires` are not met. */
  loaded: boolean;
  description: string;
  version: string | null;
  triggers: string[];
  tools: string[];
  danger: number;
  confirm: number;
  diagnostics: SkillDiagnostic[];
}

interface ReadFile {
  file: SkillFile;
  root: number;
  parsed: ParsedSkill;
}

const maxFileBytes = 1024 * 1024;
const maxOpenFiles = 32;

/** A root is a folder of skill folders or a single skill folder. Later roots override earlier ones. */
export async function loadSkills(roots: string[], options: LoadOptions = {}): Promise<SkillSet> {
  const { files, diagnostics } = await readSkills(roots, options);
  const chosen = chooseSkills(candidatesOf(files));
  return {
    skills: chosen.skills,
    diagnostics: [...diagnostics, ...files.flatMap(diagnosticsOf), ...chosen.diagnostics],
  };
}

/** Reports every SKILL.md, loaded or not, root by root in path order, and then the skipped folders. */
export async function checkSkills(roots: string[]): Promise<SkillReport[]> {
  const { files, diagnostics } = await readSkills(roots, {});
  const chosen = chooseSkills(candidatesOf(files));
  const loaded = new Set(chosen.skills);
  const reports = files.map((read) => {
    const about = chosen.diagnostics.filter(({ path }) => path === read.file.path);
    return reportOf(read, [...diagnosticsOf(read), ...about], loaded);
  });
  return [...reports, ...diagnostics.map(reportOfFolder)];
}

async function readSkills(
  roots: string[],
  options: LoadOptions,
): Promise<{ files: ReadFile[]; diagnostics: SkillDiagnostic[] }> {
  const queue = new PQueue({ concurrency: maxOpenFiles });
  const files: ReadFile[] = [];
  const diagnostics: SkillDiagnostic[] = [];
  const seen = new Set<string>();
  for (const [root, folder] of roots.entries()) {
    const found = await findSkills(folder);
    diagnostics.push(...found.diagnostics);
    const fresh = found.files.filter((file) => !seen.has(file.realPath));
    for (const file of fresh) seen.add(file.realPath);
    files.push(
      ...(await queue.addAll(
        fresh.map((file) => async () => ({ file, root, parsed: await read(file, options.memory) })),
      )),
    );
  }
  const paths = new Set(files.map(({ file }) => file.path));
  for (const path of options.memory?.keys() ?? []) if (!paths.has(path)) options.memory?.delete(path);
  return { files, diagnostics };
}

async function read(file: SkillFile, memory: LoadOptions["memory"]): Promise<ParsedSkill> {
  const known = memory?.get(file.path);
  const fresh = await readFresh(file, known);
  const lastGood = fresh.parsed.skill ?? known?.lastGood;
  memory?.set(file.path, { ...fresh, lastGood });
  if (fresh.parsed.skill !== undefined || lastGood === undefined) return fresh.parsed;
  const message =
    "since its last change the file can't be read as a skill: its previous content stays in force until you fix it";
  const kept = diagnosticOf(file.path, "warning", "last-good-kept", message);
  return { skill: lastGood, diagnostics: [...fresh.parsed.diagnostics, kept] };
}

async function readFresh(
  file: SkillFile,
  known: RememberedFile | undefined,
): Promise<{ stamp: string; parsed: ParsedSkill }> {
  if (file.diagnostics.some(({ severity }) => severity === "error")) return { stamp: "", parsed: { diagnostics: [] } };
  try {
    const found = await stat(file.path);
    const stamp = [found.mtimeMs, found.ctimeMs, found.ino, found.size, file.realPath, file.plugin].join(" ");
    if (known?.stamp === stamp) return known;
    return { stamp, parsed: await readSized(file, found.isFile(), found.size) };
  } catch (thrown) {
    const why = codeOf(thrown) ?? messageOf(thrown);
    const message = `the file can't be read (${why}): check its permissions`;
    return { stamp: "", parsed: unusable(file, "unreadable-file", message) };
  }
}

async function readSized(file: SkillFile, isFile: boolean, bytes: number): Promise<ParsedSkill> {
  if (isFile && bytes <= maxFileBytes) return parseSkill(await readFile(file.path), file.path, file.plugin);
  return isFile
    ? unusable(file, "file-too-large", "the file is over 1 MiB: move parts of it into other files of the skill")
    : unusable(file, "no-file", "SKILL.md is not a regular file");
}

function unusable({ path }: SkillFile, code: string, message: string): ParsedSkill {
  return { diagnostics: [diagnosticOf(path, "error", code, message)] };
}

function candidatesOf(files: ReadFile[]): LoadedSkill[] {
  return files.flatMap(({ root, parsed }) => (parsed.skill === undefined ? [] : [{ skill: parsed.skill, root }]));
}

function diagnosticsOf({ file, parsed }: ReadFile): SkillDiagnostic[] {
  return [...file.diagnostics, ...parsed.diagnostics];
}

function reportOf(
  { file, parsed: { skill } }: ReadFile,
  diagnostics: SkillDiagnostic[],
  loaded: ReadonlySet<Skill>,
): SkillReport {
  const rules = skill?.rules ?? [];
  return {
    path: file.path,
    name: skill?.name ?? null,
    verdict: skill === undefined ? "skip" : diagnostics.length > 0 ? "warn" : "accept",
    loaded: skill !== undefined && loaded.has(skill),
    description: skill?.description ?? "",
    version: skill?.version ?? null,
    triggers: skill?.triggers ?? [],
    tools: skill?.tools.map(({ name }) => name) ?? [],
    danger: rules.filter(({ kind }) => kind === "danger").length,
    confirm: rules.filter(({ kind }) => kind === "confirm").length,
    diagnostics,
  };
}

function reportOfFolder(diagnostic: SkillDiagnostic): SkillReport {
  const none = { name: null, description: "", version: null, triggers: [], tools: [], danger: 0, confirm: 0 };
  return { ...none, path: diagnostic.path, verdict: "skip", loaded: false, diagnostics: [diagnostic] };
}
