/** Loads every skill below the given roots. A problem in a file is reported as a diagnostic, never thrown. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import PQueue from "p-queue";
import { codeOf, messageOf } from "../../lib/errors.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import type { Skill, SkillDiagnostic, SkillSet, SkillVerdict } from "../../ports/skill.ts";
import { diagnosticOf } from "../parse/diagnostics.ts";
import { type ParsedSkill, parseSkill } from "../parse/parse-skill.ts";
import { findSkills, type SkillFile } from "./find.ts";
import { chooseSkills, type LoadedSkill } from "./precedence.ts";

export interface LoadOptions {
  /**
   * What each SKILL.md last held that could be read, by path: broken files keep it. The caller keeps the map between loads,
   * and each load removes deleted files.
   */
  lastGood?: Map<string, Skill>;
  /** With links resolved. See `findSkills`. */
  workingFolders?: readonly string[];
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
const maxRemembered = 200;

/** A command reads the skills several times, and after a change all others are the same. Parsing YAML takes longest. */
const parsedFiles = createLruMap<ParsedSkill>(maxRemembered);

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
    const found = await findSkills(folder, options.workingFolders);
    diagnostics.push(...found.diagnostics);
    const fresh = found.files.filter((file) => !seen.has(file.realPath));
    for (const file of fresh) seen.add(file.realPath);
    files.push(
      ...(await queue.addAll(
        fresh.map((file) => async () => ({ file, root, parsed: await read(file, options.lastGood) })),
      )),
    );
  }
  const paths = new Set(files.map(({ file }) => file.path));
  for (const path of options.lastGood?.keys() ?? []) if (!paths.has(path)) options.lastGood?.delete(path);
  return { files, diagnostics };
}

async function read(file: SkillFile, lastGood: LoadOptions["lastGood"]): Promise<ParsedSkill> {
  const fresh = await readFresh(file);
  if (fresh.skill !== undefined) lastGood?.set(file.path, fresh.skill);
  const previous = lastGood?.get(file.path);
  if (fresh.skill !== undefined || previous === undefined) return fresh;
  const message =
    "since its last change the file can't be read as a skill: its previous content stays in force until you fix it";
  const kept = diagnosticOf(file.path, "warning", "last-good-kept", message);
  return { skill: previous, diagnostics: [...fresh.diagnostics, kept] };
}

async function readFresh(file: SkillFile): Promise<ParsedSkill> {
  if (file.diagnostics.some(({ severity }) => severity === "error")) return { diagnostics: [] };
  try {
    const found = await stat(file.path);
    if (!found.isFile()) return unusable(file, "no-file", "SKILL.md is not a regular file");
    if (found.size > maxFileBytes)
      return unusable(file, "file-too-large", "the file is over 1 MiB: move parts of it into other files of the skill");
    return parseOnce(await readFile(file.path), file);
  } catch (thrown) {
    const why = codeOf(thrown) ?? messageOf(thrown);
    return unusable(file, "unreadable-file", `the file can't be read (${why}): check its permissions`);
  }
}

function parseOnce(bytes: Uint8Array, { path, plugin }: SkillFile): ParsedSkill {
  const key = [path, plugin, createHash("sha256").update(bytes).digest("base64")].join("\0");
  const parsed = parsedFiles.get(key) ?? parseSkill(bytes, path, plugin);
  parsedFiles.set(key, parsed);
  return parsed;
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
