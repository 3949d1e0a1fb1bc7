/**
 * The original specification, one test per requirement: each asserts it, or points to the tests that do. A pointer holds
 * only if its file has a test of that title that always runs. Where Remora differs on purpose, docs/architecture.md says
 * so.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { approvalsSection } from "./specification/approvals.ts";
import { problemWith } from "./specification/find-test.ts";
import { gateSection } from "./specification/gate.ts";
import { memorySection } from "./specification/memory.ts";
import { pipeline } from "./specification/pipeline.ts";
import { platforms } from "./specification/platforms.ts";
import { ports } from "./specification/ports.ts";
import { providers } from "./specification/providers.ts";
import { queueSection } from "./specification/queue.ts";
import { skills } from "./specification/skills.ts";

const sections = [
  pipeline,
  gateSection,
  approvalsSection,
  queueSection,
  skills,
  memorySection,
  providers,
  platforms,
  ports,
];
const root = resolve(import.meta.dirname, "..");
const page = readFileSync(resolve(root, "docs/architecture.md"), "utf8");
const partOf = (heading: string) => page.split(`\n${heading}\n`)[1]?.split(/\n#{2,3} /)[0] ?? "";
const entries = Array.from(
  partOf("### Differences from the specification").matchAll(/^- \*\*(.*?)\.\*\* /gm),
  ([, name]) => name,
);
const names = Array.from(
  partOf("### Names of the specification").matchAll(/^\| `([^|]+)` \| `([^|`]+)` \| `(src\/[^|`]+)` \|$/gm),
  ([, theirs = "", ours = "", file = ""]) => ({ theirs, ours, file }),
);

for (const { title, requirements } of sections) {
  describe(title, () => {
    for (const { says, shownBy = [], check, differs } of requirements) {
      test(says, async () => {
        expect(shownBy.length > 0 || check !== undefined, "a requirement needs a check or a test that shows it").toBe(
          true,
        );
        expect(shownBy.flatMap(([file, name]) => problemWith(file, name) ?? [])).toEqual([]);
        if (differs !== undefined) expect(entries).toContain(differs);
        await check?.();
      });
    }
  });
}

describe("the table", () => {
  const all = sections.flatMap(({ requirements }) => requirements);

  test("has each requirement once", () => {
    const said = all.map(({ says }) => says);
    expect(said.filter((one, index) => said.indexOf(one) !== index)).toEqual([]);
    expect(said.length).toBeGreaterThan(100);
  });

  test("and the page name the same differences", () => {
    expect(entries.filter((entry) => !all.some(({ differs }) => differs === entry))).toEqual([]);
  });

  test("finds what is wrong with a pointer", () => {
    expect(problemWith("specification.test.ts", "has each requirement once")).toBeUndefined();
    expect(problemWith("nowhere.test.ts", "anything")).toContain("does not exist");
    expect(problemWith("specification.test.ts", "has each requirement")).toContain("no test called");
    expect(problemWith("tool-queue/bull-conformance.test.ts", "every call")).toContain("no test called");
    expect(
      problemWith(
        "context/compaction-redis.test.ts",
        "no turn is lost or doubled, and only one of them asks the model at a time",
      ),
    ).toContain("can be skipped");
    expect(problemWith("specification/find-test.ts", "anything")).toContain("no test called");
  });
});

test.each(names)("the specification's name $theirs is $ours in $file", ({ ours, file }) => {
  expect(readFileSync(resolve(root, file), "utf8")).toMatch(new RegExp(`\\b${ours}\\b`));
});

test("the page gives the specification's names", () => {
  expect(names.map(({ theirs }) => theirs)).toEqual(
    expect.arrayContaining(["discoverSkills", "loadSkill", "SkillMeta", "{ name, args, id }"]),
  );
});
