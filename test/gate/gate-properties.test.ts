import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import type { GateRule, VerdictClass } from "../../src/ports/gate.ts";
import { runs } from "../faults/share.ts";
import { referenceRules, shellTool } from "./tables/reference-rules.ts";

const strictness: Record<VerdictClass, number> = { safe: 0, confirm: 1, block: 2 };

const fragments = [
  "a",
  "b",
  "1",
  ".",
  "\\s",
  "\\S",
  "\\d",
  "\\w",
  "\\b",
  "[ab]",
  "[^a\\s]",
  "a*",
  "(?:ab|b)",
  "\\.",
  "\u00a0",
  "$",
  "^",
];
const pattern = fc
  .array(fc.tuple(fc.constantFrom(...fragments), fc.constantFrom("", "", "+", "?", "{1,3}")), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) =>
    parts.map(([fragment, times]) => (/^[$^]$|\\b|\*$/.test(fragment) ? fragment : fragment + times)).join(""),
  );
const anyRule = fc.record({ kind: fc.constantFrom<GateRule["kind"]>("danger", "confirm"), pattern });
const text = fc.string({
  unit: fc.constantFrom("a", "b", "A", "1", " ", "\n", "\t", "\u00a0", "\u200b", "ａ", '"', "\\", "$", ";"),
});
const args = fc.dictionary(fc.constantFrom("command", "x"), fc.oneof(text, fc.array(text), fc.jsonValue()));

function gateOf(rules: Pick<GateRule, "kind" | "pattern">[], matching: "exact" | "extended") {
  return createGate({
    rules: {
      rules: rules.map((rule, line) => ({ ...rule, skill: "s", file: "f", line })),
      shellParameters: new Map([[shellTool, ["command"]]]),
    },
    matching,
  });
}

describe("whatever the patterns and the arguments", () => {
  test("the second look never lowers the verdict of the exact string", () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 5 }), args, (rules, given) => {
        const exact = gateOf(rules, "exact").classify(shellTool, given);
        const extended = gateOf(rules, "extended").classify(shellTool, given);
        expect(strictness[extended.class]).toBeGreaterThanOrEqual(strictness[exact.class]);
        expect(extended.input).toEqual(exact.input);
      }),
    );
  });

  test("another pattern never lowers a verdict", () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 4 }), anyRule, args, (rules, another, given) => {
        for (const matching of ["exact", "extended"] as const) {
          const before = gateOf(rules, matching).classify(shellTool, given).class;
          for (const more of [
            [...rules, another],
            [another, ...rules],
          ]) {
            const after = gateOf(more, matching).classify(shellTool, given).class;
            expect(strictness[after]).toBeGreaterThanOrEqual(strictness[before]);
          }
        }
      }),
    );
  });

  test("what JavaScript's own engine finds in the exact string is found", () => {
    fc.assert(
      fc.property(pattern, args, (source, given) => {
        // A blank pattern is an empty one: ignored, and reported.
        fc.pre(source.trim() !== "");
        const isFound = new RegExp(source, "i").test(`${shellTool} ${JSON.stringify(given)}`);
        const verdict = gateOf([{ kind: "danger", pattern: source }], "exact").classify(shellTool, given);
        if (isFound) expect(verdict.class).toBe("block");
      }),
      { numRuns: runs(500) },
    );
  });

  test("any text as a pattern is in force or reported, and never throws", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (source, value) => {
        const gate = gateOf([{ kind: "danger", pattern: source }], "extended");
        const verdict = gate.classify("tool", { value });
        if (gate.diagnostics().some(({ code }) => code === "gate.invalid-pattern") && value.includes(source)) {
          expect(verdict.class).toBe("block");
        }
      }),
    );
  });

  test("any value at all gets a verdict, and the same one twice", () => {
    const gate = createGate({ rules: referenceRules(), matching: "extended" });
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSparseArray: true,
      withNullPrototype: true,
    });
    fc.assert(
      fc.property(fc.string(), fc.oneof(anything, fc.record({ command: anything })), (tool, given) => {
        const verdict = gate.classify(tool, given);
        expect(gate.classify(tool, given)).toEqual(verdict);
        expect(verdict.matches.length > 0).toBe(verdict.class !== "safe");
      }),
    );
  });

  test("any text as a command gets a verdict", () => {
    const gate = createGate({ rules: referenceRules(), matching: "extended" });
    const piece = fc.constantFrom(
      "$(",
      ")",
      "`",
      "'",
      '"',
      "{",
      "}",
      "|",
      "&",
      ";",
      "<<E",
      "\nE\n",
      "rm",
      " -rf",
      "/",
      "$x",
      "${",
      "\\",
      "<(",
      "[[",
      "((",
      "function f",
      "case x in",
      "\0",
      "if ",
      "a=1 ",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 4 })), { maxLength: 30 }), (pieces) => {
        const verdict = gate.classify(shellTool, { command: pieces.join("") });
        expect(verdict.matches.some(({ pattern }) => pattern === "gate-failed")).toBe(false);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe("rewriting a blocked command", () => {
  const gate = createGate({ rules: referenceRules(), matching: "extended" });

  /** Splits a word at a place and quotes or escapes one side; the shell sees the same word. */
  const quoted = (word: string) =>
    fc
      .tuple(fc.nat(word.length - 1), fc.constantFrom("''", '""', "\\", "'x'", '"x"', "$'x'", "none"))
      .map(([at, how]) => {
        const [before, here, after] = [word.slice(0, at), word.charAt(at), word.slice(at + 1)];
        if (how === "none") return word;
        if (how === "\\") return `${before}\\${here}${after}`;
        if (how.includes("x")) return before + how.replace("x", here) + after;
        return before + how + here + after;
      });
  const blank = fc.constantFrom(" ", "  ", "\t", " \\\n ", "${IFS}");
  const flags = fc.constantFrom(
    ["-rf"],
    ["-fr"],
    ["-r", "-f"],
    ["-f", "-v", "-R"],
    ["--recursive", "--force"],
    ["--force", "-r"],
    ["-rvf"],
  );
  const prefix = fc.constantFrom(
    (command: string) => command,
    (command: string) => `sudo -u root ${command}`,
    (command: string) => `env -u X A=1 ${command}`,
    (command: string) => `nohup nice -n 5 ${command}`,
    (command: string) => `timeout -k 1 5 ${command}`,
    (command: string) => `xargs -n 1 ${command}`,
    (command: string) => `find . -exec ${command} {} +`,
  );
  const around = fc.constantFrom(
    (command: string) => command,
    (command: string) => `ls | ${command}`,
    (command: string) => `A=1 B=2 ${command}`,
    (command: string) => `cd /tmp && ${command}`,
    (command: string) => `(${command})`,
    (command: string) => `{ ${command}; }`,
    (command: string) => `if true; then ${command}; fi`,
    (command: string) => `x=$(${command})`,
    (command: string) => `! ${command}`,
    (command: string) => `${command} > /dev/null 2>&1 &`,
  );
  const rewritten = fc
    .tuple(
      fc.constantFrom("rm", "/bin/rm", "/usr/bin/../bin/rm"),
      flags,
      fc.constantFrom("/", "/srv", "./x", "~"),
      fc.boolean(),
    )
    .chain(([name, options, target, isLast]) => {
      const words = isLast ? [name, target, ...options] : [name, ...options, target];
      return fc.tuple(
        fc.tuple(...words.map(quoted)),
        fc.array(blank, { minLength: words.length, maxLength: words.length }),
      );
    })
    .map(([words, blanks]) =>
      words.map((word, index) => (index === 0 ? word : (blanks[index] ?? " ") + word)).join(""),
    );

  test("keeps it blocked or asked, whatever the quotes, flags, blanks and wrappers", () => {
    fc.assert(
      fc.property(rewritten, prefix, prefix, around, (command, inner, outer, whole) => {
        expect(gate.classify(shellTool, { command: whole(outer(inner(command))) }).class).not.toBe("safe");
      }),
      { numRuns: runs(1_500) },
    );
  });
});
