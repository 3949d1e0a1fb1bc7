import fc from "fast-check";
import { Lexer, walkTokens } from "marked";
import { describe, expect, test } from "vitest";
import { mentions, readText } from "../../../src/platforms/slack/inbound/readable-text.ts";
import { maxMarkdownLength } from "../../../src/platforms/slack/limits.ts";
import { toMrkdwn } from "../../../src/platforms/slack/outbound/mrkdwn.ts";
import { settledPart } from "../../../src/platforms/slack/outbound/native-stream.ts";
import { renderMessage, renderMrkdwn, renderParts, shortText } from "../../../src/platforms/slack/outbound/render.ts";
import { escapeText, safeMarkdown, unescapeText, wordJoiner } from "../../../src/platforms/slack/outbound/safe-text.ts";
import { type Effect, effectsOf } from "../../doubles/slack/markup.ts";
import type { StoredMessage } from "../../doubles/slack/state.ts";
import { runs } from "../../faults/share.ts";

function effectsIn(content: { text: string; blocks: unknown[] }): Effect[] {
  const message = {
    ...content,
    attachments: [],
    parse: { full: false, mrkdwn: true, unfurlLinks: false, unfurlMedia: false },
  };
  return effectsOf(message as unknown as StoredMessage);
}

/** What reaches people or hides an address; a link whose words a Markdown author chose is Markdown's own. */
function reaching(content: { text: string; blocks: unknown[] }): Effect[] {
  return effectsIn(content).filter((effect) => effect.type !== "link" && effect.type !== "unfurl");
}

describe("mrkdwn", () => {
  test.each([
    ["# Title *one*", "*Title _one_*"],
    ["some **bold** and *thin* and ~~gone~~ text", "some *bold* and _thin_ and ~gone~ text"],
    ["- one\n- two\n  - deeper\n", "• one\n• two\n    • deeper"],
    ["3. three\n4. four", "3. three\n4. four"],
    ["- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"],
    ["> said\n> twice", "> said\n> twice"],
    ["`a < b` && c", "`a &lt; b` &amp;&amp; c"],
    ["```ts\nif (a < b) {}\n```", "```\nif (a &lt; b) {}\n```"],
    ["[the page](https://x.dev/a?b=1&c=2)", "<https://x.dev/a?b=1&amp;c=2|the page>"],
    ["![a cat](https://x.dev/cat.png)", "<https://x.dev/cat.png|a cat>"],
    ["[no](javascript:alert(1))", "no (javascript:alert(1))"],
    ["---", "──────────"],
    ["foo**bar**baz", "foo\u200B*bar*\u200Bbaz"],
    ["a &amp; b &lt;tag&gt;", "a &amp; b &lt;tag&gt;"],
    ["<!channel> <@U1> <b>x</b>", "&lt;!channel&gt; &lt;@U1&gt; &lt;b&gt;x&lt;/b&gt;"],
  ])("%j becomes %j", (markdown, mrkdwn) => expect(toMrkdwn(markdown)).toBe(mrkdwn));

  test("a table is aligned in a code block", () => {
    const table = "| name | n |\n|---|---|\n| one | 1 |\n| seventeen | 17 |";
    expect(toMrkdwn(table)).toBe("```\nname      | n\n----------|---\none       | 1\nseventeen | 17\n```");
  });

  test.each(["> ", ">", "1. ", "- > "])("text in thousands of %j is shown as it is", (mark) => {
    const text = `${mark.repeat(2_000)}deep`;
    expect(toMrkdwn(text)).toBe(text.replaceAll(">", "&gt;"));
  });

  test("code with backticks in it does not end its block", () => {
    expect(toMrkdwn("````\na ``` b\n````").match(/```/g)).toHaveLength(2);
  });
});

describe("Markdown for Slack's own reader", () => {
  test.each([
    ["hello <!channel> and <@U123>", "hello &lt;!channel> and &lt;@U123>"],
    ["see <https://x.dev/a>", "see <https://x.dev/a>"],
    ["<https://evil.example|your bank>", "&lt;https://evil.example|your bank>"],
    ["a < b and c > d && e", "a &lt; b and c > d && e"],
    ["\\<@U1>", "&lt;@U1>"],
    ["\\\\<@U1>", "\\\\&lt;@U1>"],
    ["`a < b` <b>", "`a < b` &lt;b>"],
    ["`<@U123>`", `\`<${wordJoiner}@U123>\``],
    ["```\nvector<int> <!here>\n```\n<!here>", `\`\`\`\nvector<int> <${wordJoiner}!here>\n\`\`\`\n&lt;!here>`],
    ["```\n<!DOCTYPE html>\n<a href=x>\n```", "```\n<!DOCTYPE html>\n<a href=x>\n```"],
    ["> quoted", "> quoted"],
  ])("%j becomes %j", (markdown, safe) => expect(safeMarkdown(markdown)).toBe(safe));

  test("what is shown of a growing text is never taken back", () => {
    const parts = fc.array(
      fc.constantFrom(
        "word ",
        "`",
        "``",
        "```\n",
        "\n",
        "<",
        "<@U1>",
        "<!here>",
        "\\",
        "**b** ",
        "&lt;",
        "code` ",
        "> q\n",
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(parts, (pieces) => {
        let text = "";
        let shown = "";
        for (const piece of pieces) {
          text += piece;
          const next = safeMarkdown(settledPart(text));
          // Where it is, the message goes on by edits; most of the time it must not be.
          if (!next.startsWith(shown)) return;
          shown = next;
        }
        expect(reaching({ text: "", blocks: [{ type: "markdown", text: shown }] })).toEqual([]);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("plain prose, lists and whole code spans stream to their last word", () => {
    for (const text of ["First words", "- one\n- tw", "the `code` he", "```\nlet a = 1\nlet b"]) {
      expect(settledPart(text)).toBe(text);
    }
    expect(settledPart("open `co")).toBe("open ");
    expect(settledPart("done\nhalf <@U")).toBe("done\nhalf ");
    expect(settledPart("done\n| a | b |\n|-")).toBe("done\n");
    expect(settledPart("| a | b |\n| - | - |\n| 1 | ")).toBe("| a | b |\n| - | - |\n");
    expect(settledPart("| a | b |\n| - | - |\n| 1 | 2 |\n")).toBe("| a | b |\n| - | - |\n| 1 | 2 |\n");
    expect(settledPart("| no table\n\nmore")).toBe("| no table\n\nmore");
  });
});

/** Words that are found again whatever happens to the marks around them, and marks that try to become something. */
const word = fc.integer({ min: 0, max: 99_999 }).map((number) => `w${number}w`);
const nasty = fc.constantFrom(
  "<!channel>",
  "<!here|x>",
  "<!everyone>",
  "<@U0ABC123>",
  "<@W1|you>",
  "<#C0ABC|general>",
  "<!subteam^S123|@ops>",
  "<!date^1700000000^{date}|x>",
  "<https://evil.example|safe>",
  "<mailto:a@b.example|x>",
  "&lt;!channel&gt;",
  "&#60;!channel&#62;",
  "\\<!channel>",
  "< !channel >",
  "<",
  ">",
  "&",
  "`",
  "``",
  "```",
  "~~~",
  "*",
  "**",
  "_",
  "~",
  "|",
  "[",
  "](",
  "\\",
  "#",
  "\u202E",
  "\u200B",
  "@channel",
  "@here",
);
const inline = fc.array(fc.oneof({ weight: 3, arbitrary: word }, { weight: 1, arbitrary: nasty }), {
  minLength: 1,
  maxLength: 8,
});
const line = fc.tuple(
  fc.constantFrom("", "# ", "- ", "1. ", "> ", "  - ", "```", "~~~js", "| ", "<div>", "    "),
  inline,
);
const documents = fc
  .array(
    // A fence opens with a line of its own, in a list and a quote as well: what stands behind it would be the name of a
    // language, which every part repeats, and no text.
    line.map(
      ([mark, parts]) =>
        mark + (/^[`~]/.test(mark) ? "\n" : "") + parts.join(" ").replace(/^(?=[\s*>#]*(?:```|~~~))/, "x "),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .chain((lines) => fc.constantFrom("\n", "\n\n").map((end) => lines.join(end)));

function wordsIn(text: string): string[] {
  return text.match(/w\d+w/g) ?? [];
}

/** Words behind an opening fence name a language, which mrkdwn does not show. */
function languagesIn(markdown: string): string[] {
  const languages: string[] = [];
  walkTokens(new Lexer({ gfm: true }).lex(markdown), (token) => {
    if (token.type === "code") languages.push(...wordsIn(String(token.lang ?? "")));
    return undefined;
  });
  return languages;
}

/** What is in `all` and not in `found`, which must have the rest in the same order. */
function missingFrom(found: string[], all: string[]): string[] {
  const missing: string[] = [];
  let at = 0;
  for (const each of all) {
    if (each === found[at]) at++;
    else missing.push(each);
  }
  expect(found.slice(at)).toEqual([]);
  return missing;
}

describe("ten thousand documents", () => {
  test("as mrkdwn: nothing of Slack's can form, and every word is there in its order", () => {
    fc.assert(
      fc.property(documents, (markdown) => {
        const parts = renderMrkdwn(markdown);
        for (const text of parts) {
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_000);
          const effects = effectsIn({ text, blocks: [] });
          expect(effects.filter((effect) => effect.type !== "link")).toEqual([]);
          // All that is left of angle brackets are links that were links in Markdown.
          expect(text.replace(/<(?:https?|mailto|tel):[^<>]*>/g, "")).not.toContain("<");
        }
        const missing = missingFrom(wordsIn(parts.join("\n")), wordsIn(markdown));
        const languages = languagesIn(markdown);
        expect(missing.filter((each) => !languages.includes(each))).toEqual([]);
      }),
      { numRuns: runs(10_000) },
    );
  });

  test("as Markdown blocks: within the limit, nothing reaches anybody, and everything is there in its order", () => {
    fc.assert(
      fc.property(documents, fc.integer({ min: 150, max: 2_000 }), (markdown, limit) => {
        const parts = renderParts(markdown, limit);
        for (const part of parts) {
          const content = renderMessage(part);
          expect(String(content.blocks[0]?.text).length).toBeLessThanOrEqual(limit);
          expect(reaching(content)).toEqual([]);
        }
        // Words are cut only where a cut beside them would open a fence.
        const said = (text: string) => text.replace(/[^w\d]/g, "");
        expect(said(parts.join(""))).toBe(said(markdown));
      }),
      { numRuns: runs(10_000) },
    );
  });
});

test("what grows by its escapes still fits", () => {
  for (const part of renderParts("<".repeat(30_000))) {
    expect(safeMarkdown(part).length).toBeLessThanOrEqual(maxMarkdownLength);
  }
  expect(shortText("<".repeat(5_000)).length).toBeLessThanOrEqual(4_000);
  expect(shortText("")).not.toBe("");
});

test("escaping goes there and back", () => {
  fc.assert(fc.property(fc.string(), (text) => unescapeText(escapeText(text)) === text));
});

describe("what people write", () => {
  const reader = { botUserId: "UBOT", nameOf: async (id: string) => (id === "U1" ? "Ann & <Co>" : id) };

  test.each([
    ["<@UBOT> what time is it?", "what time is it?"],
    ["  <@UBOT>, hello", "hello"],
    ["ask <@UBOT> and <@U1>", "ask @UBOT and @Ann & <Co> (U1)"],
    ["in <#C1|general> for <!subteam^S1|@ops> and <!here>", "in #general (C1) for @ops (S1) and @here"],
    ["<#C2>", "#C2"],
    ["<https://x.dev/?a=1&amp;b=2|the page>", "the page (https://x.dev/?a=1&b=2)"],
    ["<https://x.dev/>", "https://x.dev/"],
    ["<mailto:a@b.dev|a@b.dev>", "a@b.dev"],
    ["1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"],
    ["&amp;lt;", "&lt;"],
    ["<!date^1700000000^{date}|14 Nov>", "14 Nov"],
    ["", ""],
  ])("%j is read as %j", async (text, read) => expect(await readText(text, reader)).toBe(read));

  test("a name that can't be found stays an id", async () => {
    const failing = { botUserId: "UBOT", nameOf: () => Promise.reject(new Error("out of reach")) };
    expect(await readText("hi <@U9>", failing)).toBe("hi @U9");
  });

  test("a mention is one of the whole id", () => {
    expect(mentions("hi <@UBOT>", "UBOT")).toBe(true);
    expect(mentions("hi <@UBOT|remora>", "UBOT")).toBe(true);
    expect(mentions("hi <@UBOT2> @UBOT", "UBOT")).toBe(false);
  });
});
