/** Loads the settings for a command. Throws an error that lists all problems of the configuration. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { formatProblems, loadSettings } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";
import type { Skill } from "../ports/skill.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";

/** Skips the workspace's skills folder before the agent's first start has created it. */
export function skillRootsOf({ skillRoots, workspace }: Settings): string[] {
  return skillRoots.filter((root) => root !== join(workspace, "skills") || existsSync(root));
}

/** By its name or an alias. `place` is the command that asks. */
export async function findSkill(settings: Settings, name: string, place: string): Promise<Skill> {
  const { skills } = await loadSkills(skillRootsOf(settings));
  const found = skills.find((skill) => skill.name === name || skill.aliases.includes(name));
  if (found !== undefined) return found;
  const message = "there is no skill of this name. To see all: npm run -s remora -- skills list";
  throw new RemoraError({ code: "skills.unknown", place, message });
}

export function settingsFor(env: Environment, root: string): Settings {
  const result = loadSettings(env, root);
  if (result.type === "ok") return result.settings;
  throw new RemoraError({ code: "config.invalid", place: "config", message: formatProblems(result.problems) });
}
