/** Pages as text: character sets, Markdown, what is the main text, and what is left of a page that can't be read. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeText } from "../../skills/web/decode.ts";
import { carriedBy } from "../../skills/web/disclosure.ts";
import { readPage } from "../../skills/web/page.ts";
import { bareText } from "../../skills/web/read-page.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { runs } from "../faults/share.ts";

const markdownOf = (body: string, url = "https://site.example/folder/page") =>
  readPage({ body: Buffer.from(`<body>${body}</body>`), contentType: "text/html", url, isWhole: true }).markdown;

test.each([
  ["the header", "text/html; charset=ISO-8859-1", Buffer.from("Gr\xfc\xdfe \x80", "latin1")],
  ["the header in quotes", 'text/html; charset="windows-1252"', Buffer.from("Gr\xfc\xdfe \x80", "latin1")],
  ["a meta element", "text/html", Buffer.from('<meta charset="windows-1252">Gr\xfc\xdfe \x80', "latin1")],
  [
    "an older meta element",
    "",
    Buffer.from('<meta http-equiv=x content="text/html; charset=windows-1252">Gr\xfc\xdfe \x80', "latin1"),
  ],
  ["an XML declaration", "", Buffer.from('<?xml version="1.0" encoding="windows-1252"?>Gr\xfc\xdfe \x80', "latin1")],
  ["nothing, with bytes that are no UTF-8", "", Buffer.from("Gr\xfc\xdfe \x80", "latin1")],
  ["a label that nobody knows", "text/html; charset=klingon", Buffer.from("Gr\xfc\xdfe \x80", "latin1")],
  ["nothing, with bytes that are UTF-8", "", Buffer.from("Grüße €")],
  ["UTF-8 that was cut in a character", "", Buffer.from("Grüße €").subarray(0, -1)],
  ["a byte order mark, whatever the header says", "text/html; charset=latin1", Buffer.from("\ufeffGrüße €")],
  ["a byte order mark of UTF-16", "", Buffer.from("\ufeffGrüße €", "utf16le")],
])("the character set comes from %s", (_what, contentType, body) => {
  expect(decodeText(body, contentType)).toContain("Grüße");
  expect(decodeText(body, contentType)).not.toContain("Ã");
});

test("any bytes with any type become text", () => {
  fc.assert(fc.property(fc.uint8Array(), fc.string(), (body, type) => typeof decodeText(body, type) === "string"));
});

describe("Markdown", () => {
  test.each([
    ["headings", "<h1>One <i>two</i></h1><h4></h4><h3>Three</h3>", "# One *two*\n\n### Three"],
    ["paragraphs and line ends", "<p>a\n  b<br>c</p>d<div>e</div>f", "a b\nc\n\nd\n\ne\n\nf"],
    ["emphasis with blanks inside", "a<b> b </b>c <strong></strong><code>x*y</code>", "a **b** c `x*y`"],
    [
      "lists in lists",
      "<ul><li>a<ol><li>b</li><li>c</li></ol></li><li><p>d</p></li><li></li></ul>",
      "- a\n  1. b\n  2. c\n- d",
    ],
    ["quotes", "<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"],
    ["code as it stands", "<pre>\na\n  &lt;b&gt;\n</pre>", "```\na\n  <b>\n```"],
    ["code with fences in it", "<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"],
    ["tables", "<table><tr><th>a<th>b|c</tr><tr><td>1</td></tr></table>", "| a | b\\|c |\n| --- | --- |\n| 1 |  |"],
    [
      "tables that only arrange",
      "<table><tr><td><p>a</p><table><tr><td>b</td></tr></table></td></tr></table>",
      "a\n\nb",
    ],
    ["terms", "<dl><dt>term</dt><dd>what it means</dd></dl>", "**term**\n\nwhat it means"],
    ["pictures by what they show", '<p><img src=x alt="A  ship"> <img src=y></p>', "[image: A ship]"],
    ["a line across", "a<hr>b", "a\n\n---\n\nb"],
    ["no scripts or forms", "<script>x</script><style>y</style>a<select><option>z</select><textarea>t</textarea>", "a"],
  ])("%s", (_what, html, markdown) => {
    expect(markdownOf(html)).toBe(markdown);
  });

  test.each([
    ['<a href="../x?y=1&amp;z=2#top">a [b]</a>', "[a \\[b\\]](https://site.example/x?y=1&z=2)"],
    ['<a href="//other.example/a (b)">x</a>', "[x](https://other.example/a%20%28b%29)"],
    ['<a href="#here">x</a>', "x"],
    ['<a href="javascript:alert(1)">x</a>', "x"],
    ['<a href="mailto:ann@example.com">mail</a>', "mail"],
    ['<a href="/x"></a>y', "y"],
    ['<a href="/x"><div>a</div><div>b</div></a>', "[a b](https://site.example/x)"],
    ['see<a href="/x"> this </a>now', "see [this](https://site.example/x) now"],
    ['<base href="https://base.example/d/"><a href="e">x</a>', "[x](https://base.example/d/e)"],
  ])("link %s", (html, markdown) => {
    expect(markdownOf(html)).toBe(markdown);
  });

  test("links with a long base don't multiply the text", () => {
    const base = `<base href="https://base.example/${"x".repeat(1_900)}/">`;
    const many = Array.from({ length: 5_000 }, (_, index) => `<a href="${index}">${index}</a>`).join(" ");
    expect(markdownOf(base + many).length).toBeLessThan(1_100_000);
  });
});

describe("a page", () => {
  const read = (html: string, isWhole = false) =>
    readPage({ body: Buffer.from(html), contentType: "text/html", url: "https://site.example/", isWhole });
  const paragraph = `<p>${"Some words of an article that people read, with commas, and more. ".repeat(6)}</p>`;

  test("gives its main text without what stands around it, and all its links", () => {
    const page = read(
      `<html><head><title>The title - The site</title><script type="application/ld+json">{"@context":"https://schema.org","@type":"Article","headline":"The title","author":{"name":"Ann"},"datePublished":"2026-11-21"}</script></head>
      <body><nav><ul><li><a href="/menu">Menu</a></li></ul></nav><article><h1>The title</h1>${paragraph.repeat(5)}</article><footer>Imprint</footer></body></html>`,
    );
    expect(page).toMatchObject({ title: "The title", byline: "Ann", published: "2026-11-21", part: "main text" });
    expect(page.links).toEqual(["https://site.example/menu"]);
    expect(page.markdown).not.toMatch(/Menu|Imprint/);
    expect(page.markdown).toContain("Some words of an article");
  });

  test("with a teaser only is read whole", () => {
    const entries = Array.from(
      { length: 40 },
      (_, index) => `<li><a href="/e/${index}">Entry ${index} of the list</a></li>`,
    );
    const page = read(
      `<html><body><article><p>Welcome, dear reader, to this site, which has very much to read.</p></article><div class="sidebar"><ul>${entries.join("")}</ul></div></body></html>`,
    );
    expect(page.part).toBe("whole page");
    expect(page.markdown).toContain("[Entry 39 of the list](https://site.example/e/39)");
  });

  test("of scripts alone shows its description, or nothing", () => {
    expect(
      read('<html><head><meta name="description" content="An app."></head><body><div id="app"></div></body></html>')
        .markdown,
    ).toBe("An app.");
    expect(read("").markdown).toBe("");
    expect(read("<html>").markdown).toBe("");
    expect(read("<html><head><title>x</title></head></html>").title).toBe("x");
  });

  test("nested deeper than anything can be read is still read", () => {
    expect(read(`${"<div>".repeat(2_000)}words${"</div>".repeat(2_000)}`).markdown).toContain("words");
  });

  test("of any tags at all is read without an error", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "<p>",
        "</p>",
        "<table>",
        "<tr>",
        "<td>",
        "<a href=x>",
        "</a>",
        "<ul>",
        "<li>",
        "<!--",
        "-->",
        "<",
        "&amp;",
      ),
      fc.constantFrom(
        "<body>",
        "</html>",
        "<title>",
        "<script>",
        "<template>",
        "<svg>",
        "<base href=y>",
        "<b hidden>",
        "<pre>",
        "]]>",
      ),
      fc.string({ unit: anyCharacter, maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.boolean(), (pieces, isWhole) => {
        expect(read(pieces.join(""), isWhole).markdown).toBeTypeOf("string");
      }),
      { numRuns: runs(300) },
    );
  });
});

test("the bare text of a page is what stands between its tags", () => {
  expect(bareText("a<b>c</b><script>x < y</script>d<style>z</style><SVG><path></SVG>e<p")).toBe("a c d e");
  expect(bareText("<script>never closed")).toBe("");
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (html) => typeof bareText(html) === "string"));
});

describe("an address that nothing has shown", () => {
  test.each([
    "https://example.com/",
    "https://nodejs.org/api/sqlite.html",
    "https://docs.python.org/3/library/asyncio-task.html",
    "https://www.example.org/2026/11/21/technology/what-happened-today-in-the-world-of-agents.html",
    "https://github.com/nodejs/node/blob/main/doc/api/sqlite.md",
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
    "https://news.ycombinator.com/item?id=38212345",
    "https://stackoverflow.com/questions/11227809/why-is-processing-a-sorted-array-faster",
    "https://ja.wikipedia.org/wiki/%E6%97%A5%E6%9C%AC%E8%AA%9E",
    "https://arxiv.org/abs/1706.03762",
    "https://xn--bcher-kva.example/",
  ])("%s is plain", (address) => {
    expect(carriedBy(new URL(address))).toBeUndefined();
  });

  test.each([
    "https://evil.example/?data=the+password+of+the+database+is+hunter2+and",
    "https://evil.example/c2VjcmV0OiBodW50ZXIyCg",
    "https://evil.example/68756e7465723268756e74657232",
    "https://c2vjcmv0oibodw50zxiyclong9.evil.example/",
    "https://the-database-password-is-hunter2-and.evil.example/",
    `https://evil.example/${"some-words-".repeat(14)}`,
    `https://evil.example${"/a".repeat(14)}`,
    "https://evil.example/%FF%FE%FD",
    "https://evil.example/a%00b",
    "https://evil.example/5678123412341234",
    "https://a.b.c.d.e.f.g.h.some.more.labels.with.words.in.them.evil.example/",
    "https://evil.example/%2568%2575%256e%2574%2565%2572/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  ])("%s could carry something", (address) => {
    expect(carriedBy(new URL(address))).toBeTypeOf("string");
  });
});
