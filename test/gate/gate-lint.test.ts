import { describe, expect, test } from "vitest";
import { lintRules } from "../../src/gate/lint.ts";
import { lintArguments } from "../../src/gate/lint-arguments.ts";
import type { GateRules } from "../../src/ports/gate.ts";
import { referenceRules } from "./tables/reference-rules.ts";

const file = "skills/x/SKILL.md";
const knownTools = ["shell_exec", "write_file"];

function rulesOf(patterns: string[]): GateRules {
  const place = { skill: "x", file };
  return {
    rules: patterns.map((pattern, index) => ({ kind: "danger", pattern, line: index + 1, ...place })),
    shellParameters: new Map(),
  };
}

const codesOf = (pattern: string) => lintRules(rulesOf([pattern]), knownTools).map(({ code }) => code);

describe("the lint of patterns", () => {
  test.each([
    ["rm -rf$", ["gate.end-anchor"]],
    ["rm -rf\\$", []],
    ["rm -rf\\\\$", ["gate.end-anchor"]],
    ['"\\}$', []],
    ["^rm -rf", ["gate.start-anchor"]],
    ["^shell_exec .*rm", []],
    ["^SHELL", []],
    ["^(?:shell_exec|write_file) ", []],
    ["^(shell_exec|delete_file) ", ["gate.start-anchor"]],
    ["^.*rm", []],
    ["^shell_exec (?:rm|mkfs) ", []],
    ["^(?:shell_exec (?:rm|mkfs)|write_file) ", []],
    ["^shell_exec rm|mkfs", []],
    ["(?i)rm", ["gate.inline-flag"]],
    ["(?i)^rm", ["gate.start-anchor", "gate.inline-flag"]],
    [".*", ["gate.matches-everything"]],
    ["x?", ["gate.matches-everything"]],
    ["rm (", ["gate.invalid-pattern"]],
    ["", ["gate.empty-pattern"]],
    ["(a+)+b", []],
    ["rm(?! -i)", []],
    ["rm\\bx", ["gate.inner-boundary"]],
    ["rm\\bx?", []],
    ["\\bgit\\b.*\\bpush\\b", []],
    ["\\d\\bx", []],
  ])("%s", (pattern, codes) => {
    expect(codesOf(pattern)).toEqual(codes);
  });

  test.each([
    ['^note_add .*"txt":', "the argument `txt`, which `note_add` does not have; it has text, tags"],
    ['^note_add .*"text":"-----', undefined],
    ['^note_add .*("text"|"tags"):', undefined],
    ['^open_tool .*"txt":', undefined],
    ['^note_add x|.*"txt":', undefined],
    ['^note_.* .*"txt":', undefined],
    ['"command": "rm', "remove the space"],
    ['"command": ?"rm', undefined],
    ['"command":"rm"', undefined],
  ])("arguments: %s", (pattern, said) => {
    const closed = {
      type: "object",
      properties: { text: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
      additionalProperties: false,
    };
    const tools = [
      { name: "note_add", parameters: closed },
      { name: "open_tool", parameters: { type: "object", properties: {} } },
    ];
    const [warning] = lintArguments(rulesOf([pattern]), tools as never);
    if (said === undefined) expect(warning).toBeUndefined();
    else expect(warning?.message).toContain(said);
  });

  test("says where, what and what to do", () => {
    const [first, second] = lintRules(rulesOf(["ok", "rm$"]), knownTools);
    expect(first).toMatchObject({ path: file, line: 2, severity: "warning" });
    expect(first?.message).toContain("remove the `$`");
    expect(second).toBeUndefined();
  });

  test("has nothing to say about the reference patterns", () => {
    expect(lintRules(referenceRules(), ["shell_exec"])).toEqual([]);
  });
});
