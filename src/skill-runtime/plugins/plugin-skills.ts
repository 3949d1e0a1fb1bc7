/** Tells tools which skills are active, and checks the text of a new SKILL.md. */
import { dirname } from "node:path";
import type { PluginSkills } from "../../ports/plugin.ts";
import type { SkillLibrary } from "../library/library.ts";
import { parseSkill } from "../parse/parse-skill.ts";

type Bounds = Pick<PluginSkills, "list" | "mayWrite">;

export function createPluginSkills(library: SkillLibrary, bounds: Bounds): PluginSkills {
  return {
    ...bounds,
    all: () => library.current().skills,
    // The model reads them, and what a program printed is for owners.
    diagnostics: () => library.current().diagnostics.map(({ printed: _printed, ...rest }) => rest),
    read(text, path) {
      const known = library.current().skills.find(({ folder }) => folder === dirname(path));
      return parseSkill(Buffer.from(text), path, known?.plugin ?? null);
    },
    async reload() {
      await library.reload();
    },
  };
}
