import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { lintRules } from "../../src/gate/lint.ts";
import { checkSkills } from "../../src/skill-runtime/library/load.ts";
import { lintKeys } from "../../src/skill-runtime/parse/lint-keys.ts";

const hintsIn = (yaml: string) =>
  lintKeys(Buffer.from(`---\n${yaml}\n---\n`)).map(({ line, message }) => `${line} ${message}`);

test("keys that are nearly right are named with what was probably meant", () => {
  const hints = hintsIn(`name: x
desciption: What it does
tools:
  - name: x_do
    inputShema: {}
  - name: x_go
    input: { type: object }
    parameters2: {}
  - name: x_list
    parameters:
      type: object
      properties:
        a: { type: string, desciption: "A", required: true }
        required: [a]
      requred: [a]`);
  expect(hints).toEqual([
    "3 `desciption` is no field, so it has no effect. Did you mean `description`?",
    "6 `inputShema` is no key of a tool, so it has no effect. Did you mean `inputSchema`?",
    "8 `input` is no key of a tool, so it takes no arguments. Did you mean `parameters`?",
    "9 `parameters2` is no key of a tool, so it has no effect. Did you mean `parameters`?",
    "14 `required` inside `a` has no effect. List the name beside `properties`: required: [a]",
    "14 `desciption` is no word of JSON Schema, so it has no effect. Did you mean `description`?",
    "15 `required` is inside `properties`, so it is an argument. Move it beside `properties`.",
    "16 `requred` is no word of JSON Schema, so it has no effect. Did you mean `required`?",
  ]);
});

test("triggers that are written like patterns are named; words with signs are not", () => {
  const hinted = (trigger: string) => hintsIn(`name: x\ntriggers: [${JSON.stringify(trigger)}]`);
  for (const trigger of ["deploy*", "*release", "^ship", "fix.*bug", "\\bgit\\b", "[Rr]eview", "(?i)merge"])
    expect(hinted(trigger)).toEqual([
      `3 the trigger \`${trigger}\` matches only as it stands, with its signs: write words, not a pattern`,
    ]);
  for (const trigger of ["*", "c++", "node.js", "US$", "what?", "#release", "code review", "部署", "a.b", "(re)start"])
    expect(hinted(trigger)).toEqual([]);
});

test("flat maps, other programs' fields and the shipped skills get no hints", async () => {
  expect(
    hintsIn(
      "name: x\nlicense: MIT\nallowed-tools: Bash\ntools: [{ name: x, parameters: { input: { type: string, required: false } } }]",
    ),
  ).toEqual([]);
  const reports = await checkSkills([resolve(import.meta.dirname, "../../skills")]);
  for (const { path } of reports) expect(lintKeys(await readFile(join(path))), path).toEqual([]);
});

test("patterns with an anchor in the middle can never match; those that can are not reported", () => {
  const warned = (pattern: string) =>
    lintRules(
      {
        rules: [{ skill: "x", kind: "confirm", pattern, reason: null, file: "f", line: 1 }],
        shellArguments: {},
      } as never,
      ["x"],
    ).some(({ code }) => code === "gate.inner-anchor");
  for (const pattern of ["rm ^-rf", "x+^y", "a$b", "foo$\\s+bar"])
    expect([pattern, warned(pattern)]).toEqual([pattern, true]);
  for (const pattern of ["^x", "(^|\\s)rm", "a?^b", "x*^y", "[^a]b", "\\^x", "a\\$b", "rm(\\s|$)", "a$b?", "(?:^a|^b)"])
    expect([pattern, warned(pattern)]).toEqual([pattern, false]);
});
