/** Tells tools which skills are active, and checks the text of a new SKILL.md. */
import { dirname } from "node:path";
import type { PluginSkills } from "../../ports/plugin.ts";
import type { SkillLibrary } from "../library/library.ts";
import { parseSkill } from "../parse/parse-skill.ts";

import { offeredToolsCode } from "./dynamic-tools.ts";

const offeredProblem = "some of its programs or their tools are missing; `/remora skills` says why";

type Bounds = Pick<PluginSkills, "list" | "mayWrite">;

export function createPluginSkills(library: SkillLibrary, bounds: Bounds): PluginSkills {
  return {
    ...bounds,
    all: () => library.current().skills,
    // What other programs say about their tools is for people: here it would be text from outside without an origin.
    diagnostics: () =>
      library
        .current()
        .diagnostics.map((one) => (one.code === offeredToolsCode ? { ...one, message: offeredProblem } : one)),
    read(text, path) {
      const known = library.current().skills.find(({ folder }) => folder === dirname(path));
      return parseSkill(Buffer.from(text), path, known?.plugin ?? null);
    },
    async reload() {
      await library.reload();
    },
  };
}
