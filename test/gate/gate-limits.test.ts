/** A pattern or a text that makes the gate hang would keep these tests from ever ending; that is what they assert. */
import { describe, expect, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { referenceRules, shellTool } from "./tables/reference-rules.ts";
import { largeInputs, rulesOf, slowPatterns } from "./tables/slow.ts";

const slow = { ...rulesOf(slowPatterns), shellParameters: new Map([[shellTool, ["command"]]]) };
const gates = (["exact", "extended"] as const).flatMap((matching) => [
  { name: `slow patterns, ${matching}`, gate: createGate({ rules: slow, matching }) },
  { name: `reference patterns, ${matching}`, gate: createGate({ rules: referenceRules(), matching }) },
]);

describe.each(gates)("1 MB against $name", ({ gate }) => {
  test.each(largeInputs())("$name", ({ text }) => {
    const verdict = gate.classify(shellTool, { command: text });
    expect(verdict.argsJson).toBe(JSON.stringify({ command: text }));
    expect(["safe", "confirm", "block"]).toContain(verdict.class);
  });
});

describe("60 KB of shell", () => {
  const { gate } = gates.at(-1) ?? { gate: createGate({ rules: referenceRules(), matching: "extended" }) };
  const pieces = [
    "$((",
    "$(echo ",
    "`echo ",
    '"$(',
    "<(",
    "{a,b}{c,d}",
    "[[[[[ ",
    "s/////",
    "env ",
    "eval ",
    "bash -c 'bash -c ",
    "x=$x ",
    "f() { ",
    "<<E\n",
    "${x:-",
    "((",
    "echo a | ",
  ];
  test.each([...pieces.map((piece) => ({ name: piece, text: piece.repeat(60_000 / piece.length) })), ...largeInputs()])(
    "$name",
    ({ text }) => {
      const verdict = gate.classify(shellTool, { command: `sudo x; ${text.slice(0, 60_000)}` });
      expect(verdict.class).not.toBe("safe");
    },
  );
});

describe("what takes too long", () => {
  const hanging = "^x (?=.*(a+)+!)";

  test("counts as a match", () => {
    // As below: a busy machine may need longer.
    const gate = createGate({ rules: rulesOf([hanging]), matching: "exact", timeLimitMs: 60_000 });
    const verdict = gate.classify("x", { text: "a".repeat(200) });
    expect(verdict).toMatchObject({ class: "block", matches: [{ pattern: hanging, form: "exact" }] });
  });

  test("holds up no other pattern", () => {
    const rules = rulesOf([hanging, "(?!b)c", "d(?=e)"]);
    // A busy machine may need longer to end the hanging pattern than a call usually gets.
    const gate = createGate({ rules, matching: "exact", timeLimitMs: 60_000 });
    const found = gate.classify("x", { text: `${"a".repeat(200)} de` }).matches.map(({ pattern }) => pattern);
    expect(found).toEqual([hanging, "d(?=e)"]);
  });

  test("leaves the patterns whole for the next call", () => {
    const rules = rulesOf(["a.{60}b.{60}c.{60}d", "(?:(?:a|b)*a(?:a|b){14})x", "mkfs"]);
    const gate = createGate({ rules, matching: "exact" });
    const noise = largeInputs().find(({ name }) => name === "two letters at random")?.text;
    for (let round = 0; round < 3; round += 1) {
      expect(gate.classify("x", { text: noise }).argsJson).toContain("a");
      expect(gate.classify("x", { text: "ls" }).class).toBe("safe");
      expect(gate.classify("x", { text: "mkfs" }).matches.map(({ pattern }) => pattern)).toEqual(["mkfs"]);
    }
  });
});

describe("a shell command beyond the bounds", () => {
  const gate = createGate({ rules: referenceRules(), matching: "extended" });
  test.each([
    ["too long", `ls ${"x".repeat(70_000)}`],
    ["too many commands", "ls;".repeat(600)],
    ["too deep in substitutions", `${"echo $(".repeat(9)}ls${")".repeat(9)}`],
    ["too deep in wrappers", `${"env ".repeat(9)}ls`],
    ["too many stages", Array.from({ length: 20 }, () => "cat").join("|")],
    ["not closed", "ls 'x"],
    ["not a command", "ls )"],
  ])("%s is tagged, and asked for", (_name, command) => {
    const verdict = gate.classify(shellTool, { command });
    expect(verdict.tags).toEqual(["#shell:parse-error"]);
    expect(verdict.class).toBe("confirm");
  });

  test("something that is no command at all is tagged too", () => {
    for (const command of [5, null, { a: 1 }, ["ls", 1]]) {
      expect(gate.classify(shellTool, { command }).tags).toContain("#shell:parse-error");
    }
    expect(gate.classify(shellTool, { other: "ls" }).tags).toEqual([]);
  });
});
