import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toDiscordMarkdown } from "../../../src/platforms/discord/outbound/markdown.ts";
import { codeBlock, escapePlain } from "../../../src/platforms/discord/outbound/plain-text.ts";
import { runs } from "../../faults/share.ts";

describe("standard Markdown for Discord", () => {
  test("what Discord shows stays as it is", () => {
    const text = "# One\n## Two\n### Three\n\n**b** *i* ~~s~~ `c` [l](https://example.com)\n- a\n  - b\n1. c\n> quote";
    expect(toDiscordMarkdown(text)).toBe(text);
  });

  test("deep headings, rules, tasks, pictures, brackets behind numbers and plus signs", () => {
    expect(toDiscordMarkdown("#### Four **x** ####")).toBe("**Four x**");
    expect(toDiscordMarkdown("a\n\n---\n***\nb")).toBe("a\n\n─────\n─────\nb");
    expect(toDiscordMarkdown("- [ ] open\n- [x] done")).toBe("- ☐ open\n- ☑ done");
    expect(toDiscordMarkdown("![a cat](https://example.com/cat.png)")).toBe("[a cat](https://example.com/cat.png)");
    expect(toDiscordMarkdown("1) one\n+ plus\n> 2) quoted")).toBe("1. one\n- plus\n> 2. quoted");
    expect(toDiscordMarkdown("line\\\nnext<br>third")).toBe("line\nnext\nthird");
  });

  test("code is not touched", () => {
    const code = "```ts\n#### x\n![a](b)\n1) x\n| a | b |\n|---|---|\n```";
    expect(toDiscordMarkdown(code)).toBe(code);
    expect(toDiscordMarkdown("`![a](b)` and ``<br>``")).toBe("`![a](b)` and ``<br>``");
  });

  test("fences have three backticks and a language of one word; backticks inside do not end them", () => {
    expect(toDiscordMarkdown("~~~js title=x\na\n~~~")).toBe("```js\na\n```");
    expect(toDiscordMarkdown("````md\n```js\nx\n```\n````")).toBe("```md\n`\u200b``js\nx\n`\u200b``\n```");
    expect(toDiscordMarkdown("```«no language»\na\n```")).toBe("```\n«no language»\na\n```");
    expect(toDiscordMarkdown("- item\n  ```sh\n  ls\n  ```")).toBe("- item\n  ```sh\n  ls\n  ```");
    expect(toDiscordMarkdown("```c++\nint\n")).toBe("```c++\nint\n");
  });

  test("a table is a block of aligned columns, by the width that characters have", () => {
    const table = "| Name | **N** |\n|:--|--:|\n| `a` | 1 |\n| 東京 | [x](https://x.y) |\n\nafter";
    expect(toDiscordMarkdown(table)).toBe(
      "```\nName  N\n────  ───────────────\na     1\n東京  x (https://x.y)\n```\n\nafter",
    );
  });

  test("a line of nothing but blanks before its end does not take minutes", () => {
    const line = `${" ".repeat(200_000)}x`;
    expect(toDiscordMarkdown(line)).toBe(line);
  });

  test("a table of any length is converted", () => {
    const rows = 200_000;
    const converted = toDiscordMarkdown(`| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(rows)}`);
    expect(converted.match(/^1 {2}2$/gm)).toHaveLength(rows);
  });

  test("a wide table is a list", () => {
    const long = "word ".repeat(12).trim();
    const table = `| Step | What | Note |\n|---|---|---|\n| one | ${long} | ${long} |\n| two | b \\| c | |`;
    expect(toDiscordMarkdown(table)).toBe(`- **one** — What: ${long} · Note: ${long}\n- **two** — What: b | c`);
  });

  test("unfinished text is converted as far as it goes", () => {
    expect(toDiscordMarkdown("| a | b |")).toBe("| a | b |");
    expect(toDiscordMarkdown("~~~py\nprint(")).toBe("```py\nprint(");
    expect(toDiscordMarkdown("")).toBe("");
  });

  test("any text is converted without an error, and no letter of it is lost", () => {
    const piece = fc.constantFrom(
      "|",
      "-",
      "|---|",
      "\n",
      "#### ",
      "```",
      "~~~",
      "a",
      "b",
      "`",
      "**",
      "[",
      "](",
      ")",
      "> ",
      "1) ",
      "\\",
      "🎉",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 80 }), (pieces) => {
        const text = pieces.join("");
        const letters = (all: string) => all.replace(/[^🎉]/gu, "");
        expect(letters(toDiscordMarkdown(text))).toBe(letters(text));
      }),
      { numRuns: runs(2_000) },
    );
  });

  test.each([
    ["backticks", "`".repeat(100_000)],
    ["brackets", "![".repeat(50_000)],
    ["cells", `|a|b|\n|-|-|\n${"|x|**y\n".repeat(10_000)}`],
    ["stars", "**a ".repeat(25_000)],
    ["hashes", `#### ${"#".repeat(100_000)}`],
    ["blanks in a heading", `#### a${" ".repeat(100_000)}x`],
    ["marks that nothing ends", `#### ${"__a ``a ".repeat(12_500)}`],
  ])(
    "100 KB of %s take no time",
    (_name, text) => {
      expect(toDiscordMarkdown(text).length).toBeGreaterThan(0);
    },
    5_000,
  );
});

describe("text as it is", () => {
  test("every sign that Discord reads has a backslash, words have none", () => {
    expect(escapePlain("a word, two words")).toBe("a word, two words");
    expect(escapePlain("[x](https://e.x) <@1> @everyone **b** `c`")).toBe(
      "\\[x\\]\\(https\\://e\\.x\\) \\<\\@1\\> \\@everyone \\*\\*b\\*\\* \\`c\\`",
    );
  });

  test("a block of code can't be ended from inside", () => {
    expect(codeBlock("a ``` b ````").match(/```/g)).toHaveLength(2);
  });
});
