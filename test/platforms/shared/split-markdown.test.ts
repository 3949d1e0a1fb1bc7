import fc from "fast-check";
import { marked } from "marked";
import { describe, expect, test } from "vitest";
import { minPartLength, splitMarkdown } from "../../../src/platforms/shared/split-markdown.ts";
import { runs } from "../../faults/share.ts";

/** Text of a random document, and the pieces of it that must not be cut. */
interface Document {
  text: string;
  whole: string[];
}

const emoji = ["🎉", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "é", "नि", "한"];
const word = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-z]{1,12}[,.]?$/) },
  { weight: 1, arbitrary: fc.constantFrom(...emoji) },
  { weight: 1, arbitrary: fc.stringMatching(/^[一-龥]{1,40}。?$/) },
  { weight: 1, arbitrary: fc.constantFrom("**bold words**", "_it_", "~~gone~~", "<@123456>", "<t:1700000000:R>") },
);
const sentence = fc.array(word, { minLength: 1, maxLength: 60 }).map((words) => words.join(" "));
const longWord = fc
  .tuple(fc.constantFrom("x", "漢", ...emoji), fc.integer({ min: 100, max: 600 }))
  .map(([unit, times]) => unit.repeat(times));

const link = fc
  .tuple(fc.stringMatching(/^[a-z ]{1,20}$/), fc.stringMatching(/^[a-z0-9/]{1,25}$/))
  .map(([label, path]) => `[${label}](https://example.com/${path})`);
const codeSpan = fc.stringMatching(/^[a-z(){};= ]{1,30}$/).map((code) => `\`${code}\``);

const paragraph: fc.Arbitrary<Document> = fc
  .array(fc.tuple(sentence, fc.oneof(link, codeSpan)), { minLength: 1, maxLength: 4 })
  .map((pieces) => ({
    text: pieces.map(([words, atom]) => `${words} ${atom}`).join(" "),
    whole: pieces.map(([, atom]) => atom),
  }));

const plain: fc.Arbitrary<Document> = fc
  .oneof(
    sentence.map((text) => `## ${text}`),
    longWord,
    fc.array(sentence, { minLength: 1, maxLength: 6 }).map((items) => items.map((item) => `- ${item}`).join("\n")),
    fc.array(sentence, { minLength: 1, maxLength: 4 }).map((items) => items.map((item) => `> ${item}`).join("\n")),
    fc.constantFrom("---", "", "\n\n"),
  )
  .map((text) => ({ text, whole: [] }));

const table: fc.Arbitrary<Document> = fc
  .array(fc.tuple(fc.stringMatching(/^[a-z]{1,12}$/), fc.stringMatching(/^[a-z]{1,12}$/)), {
    minLength: 1,
    maxLength: 30,
  })
  .map((cells) => {
    const rows = cells.map(([one, other], index) => `| ${index} ${one} | ${other} |`);
    return { text: ["| a | b |", "|---|:-:|", ...rows].join("\n"), whole: ["| a | b |\n|---|:-:|", ...rows] };
  });

const codeLine = fc.oneof(
  fc.stringMatching(/^ {0,8}[a-z]{1,20}\(\);$/),
  fc.constantFrom("", "``", "~~", "# not a heading", "| not | a table |", "  "),
  longWord,
);
const fence: fc.Arbitrary<Document & { isOpen: boolean }> = fc
  .record({
    mark: fc.constantFrom("`", "~"),
    length: fc.integer({ min: 3, max: 6 }),
    info: fc.constantFrom("", "ts", "python", "diff -u"),
    lines: fc.array(codeLine, { maxLength: 20 }),
    hasInner: fc.boolean(),
    isOpen: fc.boolean(),
  })
  .map(({ mark, length, info, lines, hasInner, isOpen }) => {
    const marks = mark.repeat(length);
    // A shorter fence, and one of the other kind, are text inside.
    const inner = hasInner ? [`${mark === "`" ? "~~~" : "```"}js`, mark.repeat(length - 1)] : [];
    const all = [`${marks}${info}`, ...lines, ...inner, ...(isOpen ? [] : [marks])];
    return { text: all.join("\n"), whole: [], isOpen };
  });

const document: fc.Arbitrary<Document> = fc
  .tuple(
    fc.array(fc.oneof(paragraph, plain, table, fence), { maxLength: 8 }),
    fc.constantFrom("\n\n", "\n\n\n", "\n  \n"),
  )
  .map(([blocks, between]) => {
    // Only the last fence may be left open: it takes everything to the end.
    const closed = blocks.filter((block, index) => !("isOpen" in block && block.isOpen) || index === blocks.length - 1);
    return { text: closed.map((block) => block.text).join(between), whole: closed.flatMap((block) => block.whole) };
  });

const junk = fc
  .array(
    fc.constantFrom(
      "`",
      "``",
      "```",
      "~~~",
      "[",
      "](",
      ")",
      "|",
      "|-|",
      "*",
      "#",
      ">",
      "-",
      " ",
      "\n",
      "\r\n",
      "a",
      "🎉",
    ),
    {
      maxLength: 1_500,
    },
  )
  .map((pieces) => pieces.join(""));

const limit = fc.oneof(fc.integer({ min: minPartLength, max: 400 }), fc.constantFrom(1_000, 2_000));

/** Whether every fence that opens closes, by the rules of CommonMark. */
function isBalanced(part: string): boolean {
  let open: string | undefined;
  for (const line of part.split("\n")) {
    const [, marks, rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (marks === undefined) continue;
    if (open === undefined) {
      if (!(marks.startsWith("`") && rest.includes("`"))) open = marks;
    } else if (marks[0] === open[0] && marks.length >= open.length && rest.trim() === "") open = undefined;
  }
  return open === undefined;
}

/** Where the parts stand in the text, without the fence lines that were added; undefined: something is missing or changed. */
function placesOf(text: string, parts: string[], from = 0): { start: number; end: number }[] | undefined {
  const [part, ...rest] = parts;
  if (part === undefined) return text.slice(from).trim() === "" ? [] : undefined;
  const lines = part.split("\n");
  const isFenceLine = (line: string | undefined) => /^[ \t>]*(?:`{3,}|~{3,})/.test(line ?? "");
  const starts = isFenceLine(lines[0]) ? [0, 1] : [0];
  const ends = isFenceLine(lines.at(-1)) ? [lines.length, lines.length - 1] : [lines.length];
  for (const first of starts) {
    for (const last of ends) {
      const body = lines.slice(first, last).join("\n");
      const start = text.indexOf(body, from);
      if (start === -1 || text.slice(from, start).trim() !== "") continue;
      const following = placesOf(text, rest, start + body.length);
      if (following !== undefined) return [{ start, end: start + body.length }, ...following];
    }
  }
  return undefined;
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** All code in fences, without blanks: language and text. */
function codeOf(markdown: string): { language: string; code: string }[] {
  const found: { language: string; code: string }[] = [];
  marked.walkTokens(marked.lexer(markdown), (token) => {
    if (token.type === "code") found.push({ language: token.lang ?? "", code: token.text.replace(/\s/g, "") });
  });
  return found.filter(({ code }) => code !== "");
}

describe("any Markdown", () => {
  test("parts fit, have balanced fences, and are the text up to blanks at the cuts", () => {
    fc.assert(
      fc.property(document, limit, ({ text }, most) => {
        const parts = splitMarkdown(text, most);
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(most);
          expect(part.trim()).not.toBe("");
          expect(part.isWellFormed()).toBe(true);
          expect(isBalanced(part)).toBe(true);
        }
        expect(placesOf(text, parts)).toBeDefined();
      }),
      { numRuns: runs(10_000) },
    );
  });

  test("links, code spans, rows and the head of a table stay whole", () => {
    fc.assert(
      fc.property(document, limit, ({ text, whole }, most) => {
        const parts = splitMarkdown(text, most);
        for (const piece of whole) expect(parts.some((part) => part.includes(piece))).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("what a Markdown reader takes for code is the same code in the same language", () => {
    fc.assert(
      fc.property(document, limit, ({ text }, most) => {
        const before = codeOf(text);
        const after = splitMarkdown(text, most).flatMap(codeOf);
        expect(after.map(({ code }) => code).join("")).toBe(before.map(({ code }) => code).join(""));
        expect(new Set(after.map(({ language }) => language))).toEqual(new Set(before.map(({ language }) => language)));
      }),
      { numRuns: runs(1_000) },
    );
  });

  test("a cut never goes through a character as people see it", () => {
    fc.assert(
      fc.property(document, limit, ({ text }, most) => {
        const boundaries = new Set([...segmenter.segment(text)].map(({ index }) => index));
        const places = placesOf(text, splitMarkdown(text, most)) ?? [];
        for (const { start } of places) expect(boundaries.has(start)).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  test("marks without sense lose nothing either", () => {
    fc.assert(
      fc.property(junk, limit, (text, most) => {
        const parts = splitMarkdown(text, most);
        for (const part of parts) expect(part.length).toBeLessThanOrEqual(most);
        const letters = (all: string) => all.replace(/[^a🎉|#[\]()]/gu, "");
        expect(letters(parts.join(""))).toBe(letters(text));
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe("where it cuts", () => {
  test("a text that fits is one part, as it is", () => {
    expect(splitMarkdown("# Hello\n\nAll *well*.\n", 2_000)).toEqual(["# Hello\n\nAll *well*."]);
    expect(splitMarkdown(" \n ", 2_000)).toEqual([]);
  });

  test("between paragraphs rather than in one", () => {
    const [one, other] = ["a word ".repeat(9).trim(), "and more ".repeat(9).trim()];
    expect(splitMarkdown(`${one}\n\n${other}`, 100)).toEqual([one, other]);
  });

  test("a fence is closed and opened again with its marks and info string", () => {
    const body = Array.from({ length: 12 }, (_, index) => `const value${index} = ${index};`);
    const parts = splitMarkdown(["````ts twoslash", ...body, "````"].join("\n"), 120);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part).toMatch(/^````ts twoslash\n[^`]+\n````$/);
    expect(parts.flatMap((part) => part.split("\n").slice(1, -1))).toEqual(body);
  });

  test("a fence that is left open at the end is closed", () => {
    expect(splitMarkdown("```js\nlet a", 100)).toEqual(["```js\nlet a\n```"]);
  });

  test("a fence in a list item or a quote keeps what stands before it", () => {
    const inList = splitMarkdown(`1. do:\n   \`\`\`sh\n   ${"echo one\n   ".repeat(15)}\`\`\``, 100);
    expect(inList[1]).toMatch(/^ {3}```sh\n {3}echo one\n[^`]+\n {3}```$/);
    const inQuote = splitMarkdown(`> \`\`\`sh\n${"> echo one\n".repeat(15)}> \`\`\``, 100);
    expect(inQuote[1]).toMatch(/^> ```sh\n> echo one\n[^`]+\n> ```$/);
  });

  test("the end of a long table keeps whole rows, and its head is not left alone", () => {
    const rows = Array.from({ length: 9 }, (_, index) => `| ${index} | ${"x".repeat(20)} |`);
    const parts = splitMarkdown(
      ["The table of all that was measured in the last four weeks:", "", "| n | x |", "|---|---|", ...rows].join("\n"),
      100,
    );
    expect(parts[1]).toMatch(/^\| n \| x \|\n\|---\|---\|\n\| 0 /);
    for (const part of parts.slice(1)) expect(part).toMatch(/\|$/);
  });

  test("a link that is longer than a part is cut, and nothing of it is lost", () => {
    const text = `[x](https://example.com/${"a".repeat(500)})`;
    expect(splitMarkdown(text, 100).join("")).toBe(text);
  });

  test("a limit without room for anything is a mistake of the caller", () => {
    expect(() => splitMarkdown("text", 10)).toThrow(RangeError);
  });

  test.each([
    ["words", "word ".repeat(40_000)],
    ["brackets", "[".repeat(100_000)],
    ["fences", "```\n".repeat(50_000)],
    ["blank lines", `x${"\n \n".repeat(60_000)}y`],
    ["cells", "|-".repeat(100_000)],
    ["backticks", "`".repeat(100_000)],
  ])(
    "200 KB of %s come apart in reasonable time",
    (_name, text) => {
      const parts = splitMarkdown(text, 2_000);
      expect(parts.every((part) => part.length <= 2_000)).toBe(true);
    },
    20_000,
  );
});
