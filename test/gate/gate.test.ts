import { describe, expect, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import type { GateRule, GateRules } from "../../src/ports/gate.ts";
import { referenceRules } from "./tables/reference-rules.ts";

const file = "skills/shell/SKILL.md";

function rule(pattern: string, kind: GateRule["kind"] = "danger", line = 1): GateRule {
  return { kind, pattern, skill: "shell", file, line };
}

function rulesOf(...rules: GateRule[]): GateRules {
  return { rules, shellParameters: new Map([["shell_exec", ["command"]]]) };
}

/** On a machine that runs other tests too. */
const timeLimitMs = 60_000;
const exactly = (...rules: GateRule[]) => createGate({ rules: rulesOf(...rules), matching: "exact", timeLimitMs });
const extended = (...rules: GateRule[]) => createGate({ rules: rulesOf(...rules), matching: "extended", timeLimitMs });

describe("the exact match string", () => {
  test("is the tool's name, a blank and the arguments as JSON", () => {
    const gate = exactly(rule('^shell_exec \\{"command":"ls","depth":2\\}$'));
    expect(gate.classify("shell_exec", { command: "ls", depth: 2 }).class).toBe("block");
    expect(gate.classify("shell_exec", { depth: 2, command: "ls" }).class).toBe("safe");
  });

  test("is matched in any case", () => {
    expect(exactly(rule("mkfs")).classify("shell_exec", { command: "MKFS /dev/x" }).class).toBe("block");
  });

  test("is all that counts in exact mode: no form, no tag", () => {
    const gate = exactly(rule("rm -rf"), rule("#taint:untrusted", "confirm"), rule("#shell:inline-code", "confirm"));
    const verdict = gate.classify("shell_exec", { command: "rm\t-rf /" }, ["#taint:untrusted"]);
    expect(verdict).toMatchObject({ class: "safe", matches: [], tags: [] });
  });

  test("is reported as the form, also where a derived form matches too", () => {
    const verdict = extended(rule("rm -rf")).classify("shell_exec", { command: "rm -rf /" });
    expect(verdict.matches.map(({ form }) => form)).toEqual(["exact"]);
  });
});

describe("the verdict", () => {
  test("block beats confirm beats safe, in whatever order the rules stand", () => {
    const confirm = rule("rm", "confirm", 1);
    const danger = rule("-rf", "danger", 2);
    for (const gate of [extended(confirm, danger), extended(danger, confirm)]) {
      const verdict = gate.classify("any_tool", { x: "rm -rf" });
      expect(verdict.class).toBe("block");
      expect(verdict.matches.map(({ kind }) => kind)).toEqual(["danger", "confirm"]);
    }
    expect(extended(confirm).classify("any_tool", { x: "rm" }).class).toBe("confirm");
    expect(extended(confirm).classify("any_tool", { x: "ls" })).toMatchObject({ class: "safe", matches: [] });
  });

  test("says pattern, reason, skill, file, line and form of every match", () => {
    const reasoned: GateRule = { ...rule("rm\\s+-rf", "danger", 14), reason: "deletes folders" };
    const verdict = extended(reasoned).classify("shell_exec", { command: "rm -r -f x" });
    expect(verdict.matches).toEqual([
      {
        kind: "danger",
        pattern: "rm\\s+-rf",
        reason: "deletes folders",
        skill: "shell",
        file,
        line: 14,
        form: "shell",
      },
    ]);
  });

  test("patterns of any skill apply to every tool", () => {
    expect(extended(rule("secret")).classify("chat_post", { text: "the Secret plan" }).class).toBe("block");
  });

  test("names the form in which a pattern was seen", () => {
    const gate = extended(rule("drop table"), rule("#taint:untrusted", "confirm"));
    const callVariants = (args: object, tags: string[] = []) =>
      gate.classify("query", args, tags).matches.map(({ form }) => form);
    expect(callVariants({ sql: "drop table x" })).toEqual(["exact"]);
    expect(callVariants({ words: ["drop", "table"] })).toEqual(["decoded"]);
    expect(callVariants({ sql: "drop\n\u200btable x" })).toEqual(["folded"]);
    expect(callVariants({ sql: "select 1" }, ["#taint:untrusted"])).toEqual(["tag"]);
  });

  test("a pattern anchored to the tool sees each value by itself", () => {
    const gate = extended(rule("^query drop"));
    expect(gate.classify("query", { note: "x", sql: "drop table y" }).class).toBe("block");
    expect(gate.classify("other", { note: "x", sql: "drop table y" }).class).toBe("safe");
  });

  test("extra tags are part of the verdict and of what patterns see", () => {
    const gate = extended(rule("^chat_post #taint:untrusted$", "confirm"));
    expect(gate.classify("chat_post", { text: "hi" }, ["#taint:untrusted"])).toMatchObject({
      class: "confirm",
      tags: ["#taint:untrusted"],
    });
    expect(gate.classify("web_fetch", { url: "x" }, ["#taint:untrusted"]).class).toBe("safe");
  });
});

describe("the arguments that were judged", () => {
  test("are a frozen copy of what was given", () => {
    const given = { list: [{ a: 1 }], text: "x" };
    const { input } = extended().classify("tool", given);
    expect(input).toEqual(given);
    expect(input).not.toBe(given);
    expect(Object.isFrozen(input)).toBe(true);
    expect(Object.isFrozen((input?.list as object[] | undefined)?.[0])).toBe(true);
  });

  test("ask toJSON and getters once, so that what is judged is what runs", () => {
    let asked = 0;
    const given = {
      get command() {
        asked += 1;
        return asked === 1 ? "ls" : "rm -rf /";
      },
    };
    const verdict = extended(rule("rm -rf")).classify("shell_exec", given);
    expect(verdict).toMatchObject({ class: "safe", input: { command: "ls" }, argsJson: '{"command":"ls"}' });
    expect(asked).toBe(1);
    const dressed = extended(rule("rm -rf")).classify("x", { a: { toJSON: () => "rm -rf" } });
    expect(dressed).toMatchObject({ class: "block", input: { a: "rm -rf" } });
  });

  test("keep __proto__ as an ordinary key", () => {
    const given: unknown = JSON.parse('{"__proto__":{"isAdmin":true},"a":1}');
    const verdict = extended(rule("isAdmin", "confirm")).classify("tool", given);
    expect(verdict.class).toBe("confirm");
    expect(Object.getPrototypeOf(verdict.input)).toBe(Object.prototype);
    expect(Object.hasOwn(verdict.input ?? {}, "__proto__")).toBe(true);
    expect((verdict.input as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });
});

describe("what can't be judged is blocked", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const throwing = {
    toJSON() {
      throw new Error("no");
    },
  };
  test.each([
    ["a cycle", cycle, "unserialisable-args"],
    ["a BigInt", { n: 1n }, "unserialisable-args"],
    ["undefined", undefined, "unserialisable-args"],
    ["a function", () => 1, "unserialisable-args"],
    ["a toJSON that throws", throwing, "unserialisable-args"],
    ["a list", ["rm"], "args-not-an-object"],
    ["null", null, "args-not-an-object"],
    ["a string", "rm", "args-not-an-object"],
    ["more than 1 MiB", { text: "x".repeat(1_048_576) }, "args-too-large"],
    ["more than 1 MiB in UTF-8", { text: "漢".repeat(400_000) }, "args-too-large"],
  ])("%s", (_name, args, why) => {
    for (const gate of [exactly(), extended()]) {
      const verdict = gate.classify("tool", args);
      expect(verdict.class).toBe("block");
      expect(verdict.matches).toMatchObject([{ kind: "danger", pattern: why, form: "fail-closed", file: "", line: 0 }]);
      expect(verdict.input).toBeUndefined();
    }
  });

  const nested = (levels: number) => JSON.parse(`{"a":${"[".repeat(levels)}"mkfs"${"]".repeat(levels)}}`) as object;

  test.each([2_000, 5_000, 50_000])("%i levels", (levels) => {
    for (const gate of [exactly(), extended()]) {
      const verdict = gate.classify("tool", nested(levels));
      expect(verdict.class).toBe("block");
      expect(verdict.matches[0]?.pattern).toMatch(/^args-too-deep$|^unserialisable-args$/);
      expect(verdict.input).toBeUndefined();
    }
  });

  test("hundreds of levels and a megabyte of text are judged like anything else", () => {
    expect(extended().classify("tool", nested(900)).class).toBe("safe");
    expect(extended(rule("mkfs")).classify("tool", nested(900)).class).toBe("block");
    const long = { text: `${"x ".repeat(500_000)}mkfs` };
    expect(extended(rule("mkfs")).classify("tool", long).class).toBe("block");
    expect(extended(rule("^tool.*mkfs")).classify("tool", { text: "mkfs" }).class).toBe("block");
  });
});

describe("patterns as people write them", () => {
  test("an empty one is ignored, and reported", () => {
    const gate = extended(rule("", "danger", 7), rule("  ", "confirm", 8));
    expect(gate.classify("tool", { a: 1 }).class).toBe("safe");
    expect(gate.diagnostics()).toMatchObject([
      { path: file, line: 7, severity: "warning", code: "gate.empty-pattern" },
      { path: file, line: 8, severity: "warning", code: "gate.empty-pattern" },
    ]);
  });

  test("an invalid one is matched as the text that it is, and reported", () => {
    const gate = extended(rule("rm -rf (", "danger", 9));
    expect(gate.classify("tool", { a: "RM -rf (x)" }).class).toBe("block");
    expect(gate.classify("tool", { a: "rm -rf x" }).class).toBe("safe");
    expect(gate.diagnostics()).toMatchObject([{ line: 9, severity: "error", code: "gate.invalid-pattern" }]);
  });

  test("a huge one is matched as text, and reported", () => {
    const gate = extended(rule(`a${"|b".repeat(20_000)}`));
    expect(gate.classify("tool", { a: "a b" }).class).toBe("safe");
    expect(gate.diagnostics()).toMatchObject([{ code: "gate.pattern-too-long" }]);
  });

  test.each([
    ["look-ahead", "fetch\\(.*https?://(?!localhost)", "fetch('http://evil.test')", "fetch('http://localhost')"],
    ["look-behind", "(?<!un)safe", "safe", "unsafe"],
    ["a back-reference", "(\\w)\\1\\1", "aaa", "aab"],
    ["a named back-reference", "(?<letter>\\w)\\k<letter>\\k<letter>", "bbb", "bbc"],
    ["many repetitions", '^tool \\{"a":"x{1500}"', "x".repeat(1500), "x".repeat(1499)],
    ["a leading (?i)", "(?i)mkfs", "MKFS", "mkf"],
    ["Unicode blanks as \\s", "rm\\s-rf", "rm\u2003-rf", "rm-rf"],
    ["no Unicode blank as \\S", "a\\Sb", "a_b", "a\u3000b"],
    ["blanks inside of a class", "a[\\s_]b", "a\u00a0b", "a-b"],
    ["a class of everything else", "a[^\\s]b", "a-b", "a\u00a0b"],
    ["escapes of JavaScript", "\\u0072m\\x20\\-rf\\/", "rm -rf/", "rm -rf"],
    ["any character", "a[^]b", "a\u2028b", "ab"],
  ])("%s is understood", (_name, pattern, hit, miss) => {
    const gate = exactly(rule(pattern));
    expect(gate.diagnostics()).toEqual([]);
    expect(gate.classify("tool", { a: hit }).class).toBe("block");
    expect(gate.classify("tool", { a: miss }).class).toBe("safe");
  });

  test("where two dialects read a spelling differently, either reading counts", () => {
    const gate = exactly(rule("\\Arm"), rule("[[:digit:]]x"));
    expect(gate.classify("tool", { a: "Arm" }).class).toBe("block");
    expect(gate.classify("rm", { a: "b" }).class).toBe("block");
    expect(gate.classify("tool", { a: "7x" }).class).toBe("block");
  });

  test("a thousand large patterns are all in force", () => {
    const patterns = Array.from({ length: 1_000 }, (_, index) => rule(`(?:word${index}\\s+){2,40}end${index}`));
    const gate = exactly(...patterns);
    expect(gate.classify("tool", { a: "word999 word999 end999" }).matches).toHaveLength(1);
    expect(gate.classify("tool", { a: "word999 word999 end998" }).class).toBe("safe");
  });
});

describe("replacing the rules", () => {
  test("puts new ones in force and takes old ones out, whole", () => {
    const gate = extended(rule("old"), rule("("));
    gate.replace(rulesOf(rule("new")));
    expect(gate.classify("tool", { a: "old" }).class).toBe("safe");
    expect(gate.classify("tool", { a: "new" }).class).toBe("block");
    expect(gate.diagnostics()).toEqual([]);
  });

  test("does not follow later changes of the lists that it was given", () => {
    const rules = referenceRules();
    const gate = createGate({ rules, matching: "extended" });
    rules.rules.length = 0;
    expect(gate.classify("shell_exec", { command: "rm -rf /" }).class).toBe("block");
    expect(gate.classify("shell_exec", { command: "ls" }).class).toBe("safe");
  });
});
