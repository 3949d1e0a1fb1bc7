import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createGate, type RuleGate } from "../../src/gate/gate.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { dangerous } from "./tables/dangerous.ts";
import { askedByTag, looking, working } from "./tables/harmless.ts";
import { referenceRules, shellTool } from "./tables/reference-rules.ts";
import { askedDangerous, heldHarmless, leftToSandbox } from "./tables/shipped.ts";

const exact = createGate({ rules: referenceRules(), matching: "exact" });
const extended = createGate({ rules: referenceRules(), matching: "extended" });
const skills = await loadSkills([fileURLToPath(new URL("../../skills", import.meta.url))]);
const shipped = createGate({ rules: gateRules(skills), matching: "extended" });

const argsOf = (command: string | string[]) => (Array.isArray(command) ? { argv: command } : { command });
/** The shipped tool takes a text. */
const verdictOn = (gate: RuleGate, command: string | string[]) =>
  gate.classify(
    shellTool,
    gate === shipped && Array.isArray(command) ? { command: command.join(" ") } : argsOf(command),
  ).class;
const rows = dangerous.flatMap((group) =>
  group.commands.map((command) => ({ shown: JSON.stringify(command), command, ...group })),
);
const harmless = [...looking, ...working, ...askedByTag];

describe("spellings of dangerous commands, with the reference patterns", () => {
  test.each(rows)("$shown is $exact exactly and $extended with the second look", (row) => {
    expect(verdictOn(exact, row.command)).toBe(row.exact);
    expect(verdictOn(extended, row.command)).toBe(row.extended);
  });
});

describe("harmless commands, with the reference patterns", () => {
  test.each([...looking, ...working])("no form or tag holds up: %s", (command) => {
    expect(verdictOn(extended, command)).toBe("safe");
  });

  test.each(askedByTag)("what can't be read is asked for, never blocked: %s", (command) => {
    expect(verdictOn(extended, command)).toBe("confirm");
  });
});

describe("dangerous commands, with the shipped skills", () => {
  const left = leftToSandbox.flatMap(({ commands }) => commands);
  const stopped = rows.filter(({ command }) => !left.includes(String(command)));

  test.each(leftToSandbox)("no pattern stops these, because $why", ({ commands }) => {
    expect(commands.filter((command) => verdictOn(shipped, command) !== "safe")).toEqual([]);
    expect(commands.filter((command) => !rows.some((row) => row.command === command))).toEqual([]);
  });

  test("the others are blocked, or ask because they publish", () => {
    const asked = stopped.filter(({ command }) => verdictOn(shipped, command) === "confirm");
    expect(asked.map(({ command }) => command)).toEqual(askedDangerous);
    expect(stopped.filter(({ command }) => verdictOn(shipped, command) === "safe")).toEqual([]);
  });
});

test("of the harmless commands only the specification's examples ask or are blocked by the shipped skills", () => {
  const held = (wanted: "confirm" | "block") => harmless.filter((command) => verdictOn(shipped, command) === wanted);
  expect({ confirm: held("confirm").sort(), block: held("block").sort() }).toEqual({
    confirm: heldHarmless.confirm.toSorted(),
    block: heldHarmless.block.toSorted(),
  });
});

test("the counts do not fall", () => {
  const caught = (gate: RuleGate) => rows.filter(({ command }) => verdictOn(gate, command) !== "safe").length;
  const held = (gate: RuleGate) => harmless.filter((command) => verdictOn(gate, command) !== "safe").length;
  const counts = {
    dangerous: rows.length,
    caughtExact: caught(exact),
    caughtExtended: caught(extended),
    caughtByShipped: caught(shipped),
    harmless: harmless.length,
    heldExact: held(exact),
    heldExtended: held(extended),
    heldByShipped: held(shipped),
    heldByShippedPercent: Number(((100 * held(shipped)) / harmless.length).toFixed(1)),
  };
  console.log(`gate tables: ${JSON.stringify(counts)}`);
  expect(counts.dangerous).toBeGreaterThanOrEqual(190);
  expect(counts.caughtExact).toBeGreaterThanOrEqual(59);
  expect(counts.caughtExtended).toBe(counts.dangerous);
  expect(counts.caughtByShipped).toBeGreaterThanOrEqual(133);
  expect(counts.harmless).toBeGreaterThanOrEqual(430);
  expect(counts.heldExact).toBe(0);
  expect(counts.heldExtended).toBeLessThanOrEqual(askedByTag.length);
  expect(counts.heldByShippedPercent).toBeLessThanOrEqual(5);
});
