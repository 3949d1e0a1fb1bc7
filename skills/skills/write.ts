/**
 * `write_skill` and `edit_skill` write a text file of a skill in `workspace/skills`, completely or not at all. A skill
 * from elsewhere is never replaced. A SKILL.md with a problem is refused. Fields that control code or approvals
 * (allowed.ts) must not change, and other files must not be code.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type { PluginContext, PluginResult, PluginSkills } from "../../src/plugin-sdk/plugin.ts";
import { replaceFile } from "../../src/plugin-sdk/replace-file.ts";
import { atPlace, existingFile, openForReading, type Place } from "../../src/plugin-sdk/working-folder.ts";
import { describe, fileRefusal, mainFile, nameRefusal, textRefusal } from "./allowed.ts";

export interface SkillFileName {
  name: string;
  file: string;
}

export async function writeSkill(
  at: SkillFileName,
  content: string,
  context: PluginContext,
  skills: PluginSkills,
): Promise<PluginResult> {
  return await change(at, context, skills, () => content);
}

export async function editSkill(
  at: SkillFileName,
  { before, after }: { before: string; after: string },
  context: PluginContext,
  skills: PluginSkills,
): Promise<PluginResult> {
  return await change(at, context, skills, (text) => {
    if (text === undefined) return { refused: `the file does not exist: create it with write_skill` };
    const parts = text.split(before);
    if (parts.length === 2) return parts.join(after);
    const count = parts.length - 1;
    if (count === 0) return { refused: "old_text does not occur in it: load the file and copy the passage exactly" };
    return { refused: `old_text occurs ${count} times: add lines around it so that it is unique` };
  });
}

type Change = (before: string | undefined) => string | { refused: string };

async function change(
  { name, file: written }: SkillFileName,
  { workspace }: PluginContext,
  skills: PluginSkills,
  change: Change,
): Promise<PluginResult> {
  const folder = join(workspace, "skills", name);
  const file = written === "" || written === `./${mainFile}` ? mainFile : written;
  const refusal = nameRefusal(name, folder, skills) ?? fileRefusal(file, folder, skills);
  if (refusal !== undefined) return failure(refusal);
  if (!(await skills.mayWrite()))
    return failure("Only the owners of this agent (safety.owners) may have skills written.");
  const root = join(workspace, "skills");
  await mkdir(root, { recursive: true });
  const opening = { workingFolder: root, path: `${name}/${file}`, makesFolders: true };
  const outcome = await atPlace(opening, async (place) => {
    const known = await existingFile(place);
    const before = known === undefined ? undefined : await readWhole(place);
    const after = change(before);
    const problem = typeof after !== "string" ? after.refused : textRefusal({ file, folder, before, after }, skills);
    if (problem !== undefined || typeof after !== "string") return problem;
    await replaceFile(place, after, known?.mode ?? 0o644);
    return undefined;
  });
  if (outcome !== undefined) return failure(`${name}/${file} was not written: ${outcome}`);
  await skills.reload();
  return success(name, folder, file, skills);
}

async function readWhole(place: Place): Promise<string> {
  await using handle = await openForReading(place, "file");
  return await handle.readFile("utf8");
}

function success(name: string, folder: string, file: string, skills: PluginSkills): PluginResult {
  const inForce = skills.all().some((skill) => skill.folder === folder);
  const findings = skills.diagnostics().filter(({ path }) => path.startsWith(join(folder, "/")));
  const state = inForce
    ? `The skill ${name} is in force from the next step on, in every conversation that may use it.`
    : `The skill ${name} is not in force.`;
  return [`Written: workspace/skills/${name}/${file}. ${state}`, ...findings.map(describe)].join("\n");
}
