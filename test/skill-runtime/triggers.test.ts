/** Triggers from a SKILL.md to the skills that a message brings up. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { triggeredSkills } from "../../src/context/triggers.ts";
import { briefs } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { parseSkill } from "../../src/skill-runtime/parse/parse-skill.ts";
import { anyCharacter } from "../doubles/any-character.ts";
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

/** `never` has the messages of the warnings about triggers that can never match. */
function parsed(triggers: readonly string[], { tools = false, body = "Do it." } = {}) {
  const fields = `triggers: ${JSON.stringify(triggers)}${tools ? "\ntools: [{ name: act }]" : ""}`;
  const { skill, diagnostics } = parseSkill(
    Buffer.from(skillText("demo", fields, body)),
    "/skills/demo/SKILL.md",
    null,
  );
  if (skill === undefined) throw new Error("the skill was not read");
  const never = diagnostics.filter(({ code }) => code === "skill.trigger-never-matches");
  const isBroughtInBy = (said: string) => triggeredSkills(briefs({ skills: [skill], diagnostics }), said).length > 0;
  return { skill, never: never.map(({ message }) => message), isBroughtInBy };
}

describe("triggers that can never match", () => {
  test.each([
    ["empty", [""]],
    ["blank", ["  \t "]],
    ["only invisible characters", ["\u200b\u2060"]],
    ["only markup", ["<b></b>"]],
    ["far too long", ["word ".repeat(100)]],
  ])("%s: a warning, and the other triggers still work", (_, triggers) => {
    const { skill, never, isBroughtInBy } = parsed([...triggers, "deploy"]);
    expect(never).toHaveLength(1);
    expect(skill.triggers).toEqual(["deploy"]);
    expect(isBroughtInBy("please deploy it")).toBe(true);
  });

  test('"*" of a skill with tools: a warning, and its words still work', () => {
    const { never, isBroughtInBy } = parsed(["*", "deploy"], { tools: true });
    expect(never).toEqual([expect.stringContaining('"*"')]);
    expect([isBroughtInBy("deploy"), isBroughtInBy("*"), isBroughtInBy("hello")]).toEqual([true, false, false]);
  });

  test("every trigger of a skill without text", () => {
    const { never, isBroughtInBy } = parsed(["deploy", "*"], { body: " " });
    expect(never).toEqual([expect.stringContaining("no text below the frontmatter")]);
    expect([isBroughtInBy("deploy"), isBroughtInBy("anything")]).toEqual([false, false]);
  });

  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 12 }),
    fc.string({ unit: "grapheme", maxLength: 12 }),
    fc.string({ unit: fc.constantFrom(..." *<>b/ßİΣς\u200b\u0301\u2028部署ｃ.^$é"), maxLength: 8 }),
  );

  test("a trigger with a warning matches nothing, and one without matches at least its own words", () => {
    fc.assert(
      fc.property(anyText, fc.boolean(), fc.array(anyText, { maxLength: 5 }), (trigger, tools, messages) => {
        // Loads as YAML only without lone surrogates, which no file in UTF-8 has.
        const { skill, never, isBroughtInBy } = parsed([trigger.toWellFormed()], { tools });
        const own = [trigger, trigger.normalize("NFKC"), trigger.toLowerCase(), `say ${trigger} now`, ...messages];
        if (never.length > 0) expect(own.filter(isBroughtInBy)).toEqual([]);
        else for (const kept of skill.triggers) expect(isBroughtInBy(kept)).toBe(true);
        expect(never.length > 0).toBe(skill.triggers.length === 0);
      }),
      { numRuns: 300 },
    );
  });
});
