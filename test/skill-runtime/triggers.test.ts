/** Triggers from a SKILL.md to the skills that a message brings up. */
import { expect, test } from "vitest";
import { triggeredSkills } from "../../src/context/triggers.ts";
import { briefs } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { skillFolder, skillText } from "./folders.ts";

test.each(["a code review", "a code  review", "some code\nreview", "Code\u00a0Review"])(
  "a trigger of two words is found in %j",
  async (said) => {
    const fields = "triggers:\n  - code\n    review";
    const set = await loadSkills([await skillFolder({ "demo/SKILL.md": skillText("demo", fields) })]);
    expect(triggeredSkills(briefs(set), said).map(({ brief }) => brief.name)).toEqual(["demo"]);
    expect(triggeredSkills(briefs(set), said.replace(/\s(?=review)/i, ", no "))).toEqual([]);
  },
);
