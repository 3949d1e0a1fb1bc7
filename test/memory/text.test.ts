import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { oneLine } from "../../src/lib/text/sanitize.ts";
import { askedTermsOf, termsOf } from "../../src/lib/text/words.ts";
import { askedDaysOf, dayTermsOf } from "../../src/memory/dates.ts";
import { digestOf } from "../../src/memory/digest.ts";
import { quoted, unquoted } from "../../src/memory/markdown-quote.ts";
import { passagesOf } from "../../src/memory/markdown-sections.ts";
import { folderNameOf, scopeOfFolder } from "../../src/memory/places.ts";
import { questionOf } from "../../src/memory/query.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { runs } from "../faults/share.ts";

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.array(fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))).map((some) => some.join("")),
  fc.constantFrom("", ".", "..", "...", "%", "%2E", "%uD800", "\ud800", "\udfff\ud800", "a/b", "dm:ann", "channel:C1"),
);

describe("a scope's folder name", () => {
  test("is read back to the same scope, for every text", () => {
    fc.assert(
      fc.property(anyText, (scope) => {
        expect(scopeOfFolder(folderNameOf(scope))).toBe(scope);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("is one plain name: never empty, never a dot or two, without separators", () => {
    fc.assert(
      fc.property(anyText, (scope) => {
        const name = folderNameOf(scope);
        expect(name).toMatch(/^[A-Za-z0-9._:@%-]+$/);
        expect(name).not.toMatch(/^\.+$/);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("is the scope itself where that can be", () => {
    for (const scope of ["shared", "dm:ann", "channel:general", "channel:C0.1_x@y-z"])
      expect(folderNameOf(scope)).toBe(scope);
  });

  test("made by hand that is no encoding stands for itself", () => {
    expect(scopeOfFolder("100%")).toBe("100%");
    expect(scopeOfFolder("%E4")).toBe("%E4");
  });
});

describe("foreign text", () => {
  test("is quoted on every line and read back as it was", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(
          quoted(text)
            .split("\n")
            .every((line) => line.startsWith(">")),
        ).toBe(true);
        expect(unquoted(quoted(text))).toBe(text.replaceAll("\0", "\uFFFD").replace(/\r\n?/g, "\n"));
      }),
    );
  });

  test("on one line has no line ends, control or direction characters, and at most so many characters", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 30 }), (text, limit) => {
        const line = oneLine(text, limit);
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(Array.from(line).length).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

describe("passages", () => {
  test("hold every word of any Markdown, in bounded pieces", () => {
    const line = fc.constantFrom(
      "# one",
      "## two",
      "```",
      "~~~ x",
      "> said",
      "words here",
      "",
      "    code",
      "#no",
      "####### no",
      "\ufeff# bom",
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(line, fc.string({ unit: anyCharacter, maxLength: 2_000 })), { maxLength: 20 }),
        (lines) => {
          for (const passage of passagesOf("2026-11-21.md", lines.join("\n"))) {
            expect(passage.text.length).toBeLessThanOrEqual(1_200);
            expect(passage.at).toMatch(/^2026-11-21T|^\d{4}-/);
          }
        },
      ),
    );
    const words = Array.from({ length: 3_000 }, (_, index) => `w${index}`);
    const found = passagesOf("a.md", words.join(" ")).flatMap((passage) => passage.text.split(" "));
    expect(found).toEqual(words);
  });

  test("follow headings outside code fences; a fence that is never closed hides none", () => {
    const headings = (text: string) => passagesOf("a.md", text).map((passage) => passage.heading);
    expect(headings("# A\n\n```\n# no heading\n```\n\n## B #\n\ntext")).toEqual(["A", "B"]);
    expect(headings("# A\n\n```\n\n# B\n\ntext")).toEqual(["A", "B"]);
    expect(headings("text before\n\n# A\n\n# B\n\nx")).toEqual(["a", "B"]);
  });

  test("know the headings above them", () => {
    const trails = passagesOf("trip.md", "# Trip\n## Day one\nrain\n## Day two\nsun\n# After\nhome").map(
      (one) => one.trail,
    );
    expect(trails).toEqual(["Trip", "Trip", "trip"]);
  });

  test("take their time from marker, heading or file name, and have none otherwise", () => {
    const at = (name: string, text: string) => passagesOf(name, text)[0]?.at;
    expect(at("2026-11-21.md", "## 14:03 — x\n\ny")).toBe("2026-11-21T14:03:00.000Z");
    expect(at("2026-11-21.2.md", "## x\n\ny")).toBe("2026-11-21T00:00:00.000Z");
    expect(at("notes.md", "## 2026-03-29 02:30 meeting\n\ny")).toBe("2026-03-29T02:30:00.000Z");
    expect(at("notes.md", "## 02:30\n\ny")).toBe("");
    expect(at("2026-02-31.md", "## 14:03\n\ny")).toMatch(/^$|^2026-03-03/);
    expect(at("2026-13-45.md", "## 25:99\n\ny")).toBe("");
  });

  test("of a file made of fences alone take no longer than their length asks", () => {
    expect(passagesOf("a.md", "````x\n```\n".repeat(100_000)).length).toBeGreaterThan(0);
  });
});

describe("terms", () => {
  test("of any text are letters, marks and digits only, so that no question is syntax", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const term of [...termsOf(text), ...askedTermsOf(text).map((one) => one.text)]) {
          expect(term).toMatch(/^[\p{L}\p{M}\p{N}\p{Extended_Pictographic}]+$/u);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test("of a question are all among those of the text it is cut from", () => {
    const words = fc.array(
      fc.constantFrom("Café", "東京タワー", "猫", "ไทย", "went", "don't", "run-turn.ts", "학교에서", "🎉"),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(words, (some) => {
        const text = some.join(" ");
        const indexed = termsOf(text);
        for (const { text: asked, isPrefix } of askedTermsOf(text)) {
          expect(indexed.some((term) => (isPrefix ? term.startsWith(asked) : term === asked))).toBe(true);
        }
      }),
    );
  });

  test("of a question leave out empty words only when there are others", () => {
    const terms = (text: string) => questionOf(text, 0).terms.map((term) => term.text);
    expect(terms("what did you do about the boat")).toEqual(["boat"]);
    expect(terms("who are you")).toEqual(["who", "are", "you"]);
    expect(terms("w".repeat(30_000))).toHaveLength(1);
  });
});

describe("days in a question", () => {
  test.each([
    ["on 8 May 2023", ["d20230508"]],
    ["on the 8th of May, 2023?", ["d20230508"]],
    ["May 8, 2023", ["d20230508"]],
    ["2023-05-08", ["d20230508"]],
    ["in 2023-05", ["m202305"]],
    ["in May 2023", ["m202305"]],
    ["in early May", ["n05"]],
    ["May I come in?", []],
    ["we march on", []],
    ["yesterday", ["d20261120"]],
    ["version 2023", []],
    ["sept 3", ["n09"]],
  ])("%s", (text, terms) => {
    expect(askedDaysOf(text, Date.UTC(2026, 10, 21)).terms).toEqual(terms);
  });

  test("are the terms of that day's passages", () => {
    expect(dayTermsOf("2023-05-08T13:56:00.000Z")).toEqual(["d20230508", "m202305", "y2023", "n05"]);
    expect(dayTermsOf("")).toEqual([]);
  });
});

describe("the digest", () => {
  const line = fc.record({
    time: fc.constant("12:00:00"),
    day: fc.constantFrom("2026-11-20", "2026-11-21"),
    tool: fc.constantFrom("shell_exec", "write_file"),
    outcome: fc.oneof(fc.constantFrom("approved", "denied", "failed"), fc.string({ maxLength: 10 })),
    summary: fc.string({ unit: anyCharacter, maxLength: 300 }),
  });

  test("is at most 2,400 characters, the same for the same lines, and ends with the newest", () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 80 }), (lines) => {
        const digest = digestOf(lines);
        expect(digest.length).toBeLessThanOrEqual(2_400);
        expect(digestOf(lines)).toBe(digest);
        const newest = oneLine(lines.at(-1)?.summary ?? "", 120);
        expect(digest.split("\n").at(-1)).toContain(newest);
      }),
    );
  });

  const at = (summary: string, outcome: string, day = "2026-11-21") => ({
    time: "12:00:00",
    day,
    tool: "shell_exec",
    summary,
    outcome,
  });
  const by = { name: "Ann", id: "U1" };

  test("says of each call what was decided, the latest last, in the order of the latest decisions", () => {
    const lines = [
      { ...at("rm y", "approved", "2026-11-20"), by },
      { ...at("rm x", "denied"), by },
      { ...at("rm y", "denied"), by },
      { ...at("rm y", "approved"), by },
    ];
    expect(digestOf(lines)).toBe(
      "- shell_exec rm x: denied (last 2026-11-21, decided by Ann)\n- shell_exec rm y: denied, then approved (last 2026-11-21, decided by Ann)",
    );
  });

  test("names a call that failed until it works", () => {
    const failed = [at("ls", "ok"), at("ls", "failed"), at("make", "interrupted")];
    expect(digestOf(failed)).toBe(
      "- shell_exec ls: failed (last 2026-11-21)\n- shell_exec make: interrupted (last 2026-11-21)",
    );
    expect(digestOf([...failed, at("ls", "ok")])).toBe("- shell_exec make: interrupted (last 2026-11-21)");
  });

  test("does not change with calls that work, nor with the tenth approval of a day", () => {
    const decision = fc.record({
      ...{ time: fc.constant("12:00:00"), day: fc.constant("2026-11-20"), by: fc.constant(by) },
      ...{ tool: fc.constantFrom("shell_exec", "chat_post"), summary: fc.constantFrom("ls", "rm x", "make") },
      outcome: fc.constantFrom("approved", "denied", "expired", "granted", "revoked", "blocked"),
    });
    fc.assert(
      fc.property(fc.array(decision, { maxLength: 20 }), fc.nat(20), (decisions, from) => {
        const worked = ["ls", "rm x", "cat y"].map((summary) => at(summary, "ok", "2026-11-22"));
        const [last] = decisions.slice(-1);
        const again = last === undefined ? [] : Array.from({ length: 10 }, () => last);
        const more = [...decisions.slice(0, from), ...worked, ...decisions.slice(from), ...again, ...worked];
        expect(digestOf(more)).toBe(digestOf(decisions));
      }),
    );
  });

  test("says of ratings only that more are bad than good", () => {
    const rated = (outcome: string) => ({ ...at("turn t1", outcome), tool: "answer" });
    expect(digestOf([rated("good"), rated("bad")])).toBe("");
    expect(digestOf([rated("good"), rated("bad"), rated("bad")])).toBe(
      digestOf([rated("bad"), rated("bad"), rated("bad")]),
    );
  });
});
