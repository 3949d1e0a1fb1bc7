/**
 * Finds the SKILL.md files below a root, level by level and in path order. A folder with a SKILL.md is a skill and owns
 * everything below it. Links are followed only inside the root. Hidden folders and `node_modules` are ignored, and
 * anything else that is skipped is reported.
 */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import PQueue from "p-queue";
import { codeOf, messageOf } from "../../lib/errors.ts";
import { isInside } from "../../lib/is-inside.ts";
import type { SkillDiagnostic } from "../../ports/skill.ts";
import { createDiagnostics, diagnosticOf } from "../parse/diagnostics.ts";

export interface SkillFile {
  path: string;
  /** The path with links resolved so that a skill found twice counts once. */
  realPath: string;
  plugin: string | null;
  /** Problems with the location and the name. If one is an `error`, the file must not be read. */
  diagnostics: SkillDiagnostic[];
}

export interface FoundSkills {
  files: SkillFile[];
  diagnostics: SkillDiagnostic[];
}

const maxDepth = 4;
const maxFolders = 2_000;
const maxOpenFolders = 32;
const pluginNames = ["plugin.ts", "plugin.js", "plugin.mjs", "plugin/index.ts", "plugin/index.js", "plugin/index.mjs"];

type Look =
  | { type: "skill"; file: SkillFile }
  | { type: "folders"; below: string[] }
  | { type: "passed-over"; code: string; message: string };

/** Nothing is taken from `workingFolders`, whose links are resolved: a file that tools keep must not become a skill. */
export async function findSkills(root: string, workingFolders: readonly string[] = []): Promise<FoundSkills> {
  const found: FoundSkills = { files: [], diagnostics: [] };
  const top = resolve(root);
  const realRoot = await realpath(top).catch(() => undefined);
  if (realRoot === undefined) {
    if (isConventional(top)) return found;
    const message = "this folder of skills does not exist: create it, or remove it from the settings";
    return { files: [], diagnostics: [diagnosticOf(top, "warning", "no-folder", message)] };
  }
  const queue = new PQueue({ concurrency: maxOpenFolders });
  const seen = new Set<string>();
  let searched = 0;
  let level = [top];
  for (let depth = 0; level.length > 0; depth += 1) {
    const looks = await queue.addAll(level.map((folder) => () => lookAt(folder, realRoot, workingFolders, seen)));
    const below: string[] = [];
    for (const [index, look] of looks.entries()) {
      if (look.type === "skill") found.files.push(look.file);
      if (look.type === "folders") below.push(...look.below);
      if (look.type !== "skill") searched += 1;
      if (look.type === "passed-over")
        found.diagnostics.push(diagnosticOf(level[index] ?? top, "error", look.code, look.message));
    }
    level = below;
    const limit = limitReached(depth, searched);
    if (limit === undefined) continue;
    found.diagnostics.push(...level.map((folder) => diagnosticOf(folder, "error", limit.code, limit.message)));
    break;
  }
  found.files.sort((one, other) => (one.path < other.path ? -1 : 1));
  return found;
}

/** `.agents/skills` may be missing, because it belongs to other programs too. */
function isConventional(root: string): boolean {
  return root.endsWith(join(sep, ".agents", "skills"));
}

function limitReached(depth: number, searched: number): { code: string; message: string } | undefined {
  if (depth >= maxDepth) {
    return {
      code: "too-deep",
      message: "this folder was not searched: skills may be at most four folders below their root",
    };
  }
  if (searched <= maxFolders) return undefined;
  return {
    code: "too-many-folders",
    message: "this folder was not searched: 2,000 folders before it contained no skill",
  };
}

async function lookAt(
  folder: string,
  realRoot: string,
  workingFolders: readonly string[],
  seen: Set<string>,
): Promise<Look> {
  try {
    const real = await realpath(folder);
    if (!isInside(real, realRoot)) {
      return {
        type: "passed-over",
        code: "link-out",
        message: "this link leads out of the folder of skills, so it was not followed",
      };
    }
    const worked = workingFolders.find((each) => isInside(real, each));
    if (worked !== undefined) return workedIn(worked);
    // Already visited, so one of the paths is a link. This check also ends cycles of links.
    if (seen.has(real)) return { type: "folders", below: [] };
    seen.add(real);
    const entries = await readdir(real, { withFileTypes: true });
    const names = entries.map((entry) => entry.name).sort();
    const name = names.find((one) => one === "SKILL.md") ?? names.find((one) => one.toLowerCase() === "skill.md");
    if (name === undefined) return { type: "folders", below: await foldersIn(folder, entries) };
    const inner = workingFolders.find((each) => isInside(each, real));
    if (inner !== undefined) return workedIn(inner);
    return { type: "skill", file: await skillFile(folder, real, name, names, realRoot) };
  } catch (thrown) {
    const message = `this folder can't be read (${codeOf(thrown) ?? messageOf(thrown)}): check its permissions`;
    return { type: "passed-over", code: "unreadable-folder", message };
  }
}

function workedIn(folder: string): Look {
  const message = `tools work in ${folder}, so no skill is loaded from there: move the skills, or correct \`folders\` in the configuration`;
  return { type: "passed-over", code: "working-folder", message };
}

async function foldersIn(folder: string, entries: Dirent[]): Promise<string[]> {
  const candidates = entries.filter(({ name }) => !name.startsWith(".") && name !== "node_modules");
  const below: string[] = [];
  for (const entry of candidates) {
    const path = join(folder, entry.name);
    const target = entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : entry;
    if (target?.isDirectory()) below.push(path);
  }
  return below.sort();
}

async function skillFile(
  folder: string,
  real: string,
  name: string,
  names: string[],
  realRoot: string,
): Promise<SkillFile> {
  const path = join(folder, name);
  const notes = createDiagnostics(path);
  const realPath = await realpath(join(real, name)).catch(() => undefined);
  if (realPath === undefined || !isInside(realPath, realRoot)) {
    notes.error(0, "link-out", "this link leads out of the folder of skills, or nowhere, so it was not followed");
  }
  if (name !== "SKILL.md")
    notes.warn(0, "file-name", "the file should be called SKILL.md, in capitals: other programs won't find it");
  const plugin = await pluginIn(folder, real, names, realRoot);
  if (plugin === "outside")
    notes.warn(0, "link-out", "its plugin is a link out of the folder of skills, so it is not loaded");
  const isThere = plugin !== undefined && plugin !== "outside";
  return { path, realPath: realPath ?? path, plugin: isThere ? plugin : null, diagnostics: notes.list };
}

async function pluginIn(folder: string, real: string, names: string[], realRoot: string): Promise<string | undefined> {
  for (const plugin of pluginNames) {
    if (!names.includes(plugin.split("/")[0] ?? "")) continue;
    const target = await realpath(join(real, plugin)).catch(() => undefined);
    if (target === undefined || !(await isFile(target))) continue;
    return isInside(target, realRoot) ? join(folder, plugin) : "outside";
  }
  return undefined;
}

/** Accepts regular files only, because opening a pipe could block forever. */
async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}
