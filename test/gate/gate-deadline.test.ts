/** What the gate says when there is much to read. How long it takes is measured by bench/gate.ts. */
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import type { GateRule } from "../../src/ports/gate.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { prose } from "./tables/prose.ts";

const skills = await loadSkills([fileURLToPath(new URL("../../skills", import.meta.url))]);
/** On a machine that runs other tests too. */
const patient = createGate({ rules: gateRules(skills), matching: "extended", timeLimitMs: 60_000 });
const notInTime = { kind: "confirm", pattern: "not-checked-in-time", reason: "this call could not be checked in time" };

describe("a file of a megabyte", () => {
  test.each(prose())("in $name is safe to write", ({ text }) => {
    expect(patient.classify("write_file", { path: "notes.md", content: text })).toMatchObject({
      class: "safe",
      matches: [],
    });
  });

  test.each(prose())("in $name is not, with a dangerous command in the middle", ({ text }) => {
    const content = `${text.slice(0, text.length / 2)} ｒｍ　－ｒｆ　／ ${text.slice(text.length / 2 + 200)}`;
    const verdict = patient.classify("write_file", { path: "notes.md", content });
    expect(verdict.class).toBe("block");
    expect(verdict.matches).toContainEqual(expect.objectContaining({ pattern: "rm -rf /", form: "folded" }));
  });

  test("of 100,000 ligatures, each of which folds to 18 characters, is safe to write", () => {
    expect(patient.classify("write_file", { path: "a", content: "\ufdfa".repeat(100_000) }).class).toBe("safe");
  });
});

describe("what could not be checked in time", () => {
  const rule = (pattern: string, kind: GateRule["kind"]): GateRule => ({
    kind,
    pattern,
    skill: "s",
    file: "f",
    line: 1,
  });
  const gateWith = (rules: GateRule[], timeLimitMs = 60_000) =>
    createGate({ rules: { rules, shellParameters: new Map() }, matching: "extended", timeLimitMs });
  /** Folds to more characters than are read, whatever the time. */
  const tooMuch = "\ufdfa".repeat(330_000);

  test("asks a person", () => {
    const verdict = gateWith([rule("mkfs", "danger")]).classify("write_file", { content: tooMuch });
    expect(verdict).toMatchObject({ class: "confirm", matches: [notInTime] });
    expect(verdict.input).toEqual({ content: tooMuch });
  });

  test("is blocked where the exact string already says so", () => {
    const verdict = gateWith([rule("mkfs", "danger")]).classify("write_file", { content: `mkfs ${tooMuch}` });
    expect(verdict).toMatchObject({ class: "block", matches: [{ pattern: "mkfs", form: "exact" }, notInTime] });
  });

  test("is blocked where a tag already says so", () => {
    const gate = gateWith([rule("#taint:untrusted", "danger")]);
    expect(gate.classify("write_file", { content: tooMuch }, ["#taint:untrusted"]).class).toBe("block");
  });

  test("is never taken for safe when no time is left at all", () => {
    const gate = gateWith([rule("mkfs", "danger")], 0);
    expect(gate.classify("write_file", { content: "hello" })).toMatchObject({ class: "confirm", matches: [notInTime] });
  });
});

test("more values than are worth reading are blocked, however short the text is", () => {
  const many = (length: number) => patient.classify("tool", { list: Array.from({ length }, () => ({})) });
  expect(many(49_000).class).toBe("safe");
  expect(many(60_000)).toMatchObject({ class: "block", matches: [{ pattern: "args-too-many" }] });
});
