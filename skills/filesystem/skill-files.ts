/**
 * Files of skills, for `read_file` only. A path in the working folder is never looked up here, so a draft decides what it
 * shows. Hidden files may contain keys, so they are refused, as `load_skill` refuses them.
 */
import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { PluginContext } from "../../src/plugin-sdk/plugin.ts";
import { atPlace, fileProblem, leadsOut, type Place, pathOf } from "../../src/plugin-sdk/working-folder.ts";

type Skills = Pick<PluginContext, "workingFolder" | "skills">;

interface SkillFolder {
  name: string;
  folder: string;
}

/** Returns the skill whose folder contains the path, if the conversation may use it. */
export async function skillAround(path: string, { workingFolder, skills }: Skills): Promise<SkillFolder | undefined> {
  if (skills === undefined || !isAbsolute(path) || path.includes("\0")) return undefined;
  const found = skills.list().find(({ folder }) => resolve(path).startsWith(`${resolve(folder)}${sep}`));
  return found !== undefined && (await leadsOut({ workingFolder, path })) ? found : undefined;
}

export function atSkillFile<T>(
  path: string,
  { name, folder }: SkillFolder,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  return atPlace({ workingFolder: folder, path }, (place) => {
    const shown = `${place.shown} of the skill ${name}`;
    const check: Place["check"] = async (handle) => {
      await place.check(handle);
      const real = relative(await realpath(folder), await realpath(pathOf(handle, place.path)));
      if (real.split(sep).some((part) => part.startsWith("."))) throw fileProblem(shown, "is a hidden file");
    };
    return work({ ...place, shown, check });
  });
}

/** Says how to read a skill's folder instead, for tools that never leave the working folder. */
export async function explainSkillFolder(path: unknown, skills: Skills): Promise<string | undefined> {
  const skill = typeof path === "string" ? await skillAround(path, skills) : undefined;
  return skill === undefined
    ? undefined
    : `${JSON.stringify(path)} belongs to the skill ${skill.name}: load_skill lists its files, read_file and load_skill with file read them, and no tool changes them.`;
}
