/** What the tools of a skill may know about skills: those in force, and what the loader makes of a new text. */
import { dirname } from "node:path";
import type { PluginSkills } from "../core/plugin.ts";
import type { Skill } from "../core/skill.ts";
import type { SkillLibrary } from "./library.ts";
import { parseSkill } from "./parse-skill.ts";
import { byAnyName } from "./precedence.ts";

/** `allowed`: what the conversation of the call may use. */
export function createPluginSkills(library: SkillLibrary, allowed: () => Skill[]): PluginSkills {
  return {
    list: allowed,
    find: (name) => byAnyName(library.current().skills).get(name),
    diagnostics: () => library.current().diagnostics,
    read(text, path) {
      const known = library.current().skills.find(({ folder }) => folder === dirname(path));
      return parseSkill(Buffer.from(text), path, known?.plugin ?? null);
    },
    async reload() {
      await library.reload();
    },
  };
}
