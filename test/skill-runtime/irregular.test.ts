import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { SkillSet } from "../../src/ports/skill.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { checkSkills, loadSkills, type SkillReport } from "../../src/skill-runtime/library/load.ts";

interface Case {
  dir: string;
  verdict: "accept" | "warn" | "skip" | "warn-or-skip" | "warn-fail-closed";
  name?: string;
  description?: string;
  version?: string;
  triggers?: string[];
  danger?: string[];
  danger_literal?: string[];
  schema?: object;
  body_contains?: string;
}

const root = join(import.meta.dirname, "../fixtures/skills-irregular");
const { cases }: { cases: Case[] } = JSON.parse(await readFile(join(root, "expected.json"), "utf8"));
const allowed = {
  accept: ["accept"],
  warn: ["warn"],
  skip: ["skip"],
  "warn-or-skip": ["warn", "skip"],
  "warn-fail-closed": ["warn"],
};
let reports: Map<string, SkillReport>;
let set: SkillSet;

beforeAll(async () => {
  reports = new Map((await checkSkills([root])).map((report) => [basename(dirname(report.path)), report]));
  set = await loadSkills([root]);
});

describe("skills as they are found in the wild", () => {
  test("every case is in the report once, and nothing else is", () => {
    expect([...reports.keys()].sort()).toEqual(cases.map(({ dir }) => dir).sort());
  });

  test.each(cases)("$dir: $verdict", (wanted) => {
    const report = reports.get(wanted.dir);
    expect(allowed[wanted.verdict]).toContain(report?.verdict);
    expect(report?.diagnostics.length === 0).toBe(report?.verdict === "accept");
    for (const { message, code } of report?.diagnostics ?? []) {
      expect(message).not.toBe("");
      expect(code).toMatch(/^skill\.[a-z0-9-]+$/);
    }
    const { name, description, version, triggers } = wanted;
    const fields = Object.entries({ name, description, version, triggers }).filter(([, value]) => value !== undefined);
    expect(report).toMatchObject(Object.fromEntries(fields));
  });

  test.each(cases.filter(({ schema }) => schema !== undefined))(
    "$dir: its parameters as JSON Schema",
    ({ dir, schema }) => {
      expect(set.skills.find((skill) => basename(skill.folder) === dir)?.tools[0]?.parameters).toEqual(schema);
    },
  );

  test.each(cases.filter(({ danger }) => danger !== undefined))(
    "$dir: its patterns are rules of the gate",
    ({ dir, danger = [], danger_literal = [] }) => {
      const patterns = gateRules(set).rules.filter(({ file }) => basename(dirname(file)) === dir);
      expect(patterns.map(({ pattern }) => pattern).sort()).toEqual([...danger, ...danger_literal].sort());
    },
  );

  test("a line --- in the body belongs to the body", () => {
    expect(set.skills.find(({ name }) => name === "dash-in-body")?.body).toContain("---");
  });

  test("a skill whose requirements are missing or circular is reported and not in force", () => {
    for (const dir of ["requires-missing", "requires-cycle-a", "requires-cycle-b"]) {
      expect(reports.get(dir)?.loaded).toBe(false);
      expect(set.skills.some(({ name }) => name === dir)).toBe(false);
    }
  });

  test("of two skills with one name the first in path order is in force, and the other's diagnostic has both paths", () => {
    expect(set.skills.filter(({ name }) => name === "dup-name").map(({ description }) => description)).toEqual([
      "First",
    ]);
    const [diagnostic] = reports.get("dup-name-b")?.diagnostics ?? [];
    expect(`${diagnostic?.path} ${diagnostic?.message}`).toMatch(/dup-name-b.*dup-name-a/);
  });

  test("nothing was evaluated and no prototype was touched", () => {
    expect("__pwned" in globalThis).toBe(false);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
