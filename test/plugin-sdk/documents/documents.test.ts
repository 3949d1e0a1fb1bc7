/** PDF and office files: the first look, and the text by pages. */
import { zipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { docx, paragraph, pdf, pptx, xlsx } from "./files.ts";
import { type DocumentsPlace, makeDocumentsPlace } from "./place.ts";

let place: DocumentsPlace;
beforeAll(async () => {
  place = await makeDocumentsPlace();
});
afterAll(() => place.remove());

const pageBreak = '<w:p><w:r><w:br w:type="page"/></w:r></w:p>';

describe("a PDF", () => {
  test("comes with its title, number of pages and text", async () => {
    const look = await place.inspect("a.pdf", pdf([["one", "two"], ["three"]], "/Title (Plan \\(draft\\))"));
    expect(look).toEqual({
      mimeType: "application/pdf",
      summary: "PDF “Plan (draft)”, 2 pages, 907 B",
      text: "[page 1]\none\ntwo\n[page 2]\nthree",
    });
  });

  test("is read by pages, and says how many there are", async () => {
    const file = pdf(Array.from({ length: 120 }, (_, index) => [`this is page ${index + 1}`]));
    expect(await place.pages("a.pdf", file, { firstPage: 3, lastPage: 4 })).toMatchObject({
      ...{ unit: "page", count: 120, firstPage: 3, lastPage: 4, firstLine: 1, lastLine: 4, totalLines: 4 },
      text: "[page 3]\nthis is page 3\n[page 4]\nthis is page 4",
    });
    expect(await place.pages("a.pdf", file, { firstPage: 121 })).toEqual({
      ...{ type: "problem", message: "There is no page 121; the document has 120." },
    });
  });

  test("of scanned pages, with a password, or cut off says so", async () => {
    expect((await place.inspect("a.pdf", pdf([[], []]))).problem).toContain("probably scanned");
    const locked = `/Filter /Standard /V 1 /R 2 /P -4 /O <${"00".repeat(32)}> /U <${"11".repeat(32)}>`;
    const protectedPdf = Buffer.from(
      Buffer.from(pdf([["x"]]))
        .toString("latin1")
        .replace("trailer\n<<", `trailer\n<< /Encrypt << ${locked} >> /ID [<00> <00>]`),
      "latin1",
    );
    expect((await place.inspect("a.pdf", protectedPdf)).problem).toBe("The PDF has a password. Send it without one.");
    expect((await place.inspect("a.pdf", "%PDF-1.7\nnothing else")).problem).toContain("damaged or incomplete");
  });
});

describe("a Word document", () => {
  test("comes as paragraphs, headings, lists and tables", async () => {
    const cell = (...lines: string[]) => `<w:tc>${lines.map(paragraph).join("")}</w:tc>`;
    const body = [
      '<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Goals</w:t></w:r></w:p>',
      '<w:p><w:pPr><w:numPr/><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>first</w:t><w:tab/><w:t>one</w:t></w:r></w:p>',
      `<w:tbl><w:tr>${cell("a", "b")}${cell("c")}</w:tr><w:tr>${cell("d")}${cell("")}</w:tr></w:tbl>`,
      "<w:p><w:r><w:t>kept</w:t><w:delText>deleted</w:delText><w:instrText>PAGE</w:instrText></w:r></w:p>",
      "<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>new</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>old</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>",
      paragraph("&lt;b&gt; &amp;amp; &#x41;&#66; &unknown;"),
    ].join("");
    const look = await place.inspect("a.docx", docx(body, "The plan"));
    expect(look.summary).toMatch(/^Word document “The plan”, 1 part, /);
    expect(look.text).toBe("## Goals\n- first\tone\na b | c\nd | \nkept\nnew\n<b> &amp; AB &unknown;");
  });

  test("has the pages that Word stored, or else parts of a readable size", async () => {
    const broken = docx(
      `${paragraph("one")}${pageBreak}<w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>`,
    );
    expect(await place.pages("a.docx", broken)).toMatchObject({
      unit: "page",
      count: 2,
      text: "[page 1]\none\n[page 2]\ntwo",
    });
    const long = docx(paragraph("word ".repeat(100)).repeat(60));
    const parts = await place.pages("a.docx", long, { firstPage: 2, lastPage: 2 });
    expect(parts).toMatchObject({ unit: "part", count: 10, firstPage: 2, lastPage: 2, totalLines: 7 });
  });

  test("takes no text from entities of its own, or from other files", async () => {
    const body = `${paragraph("&a;&b;")}${paragraph("end")}`;
    const hostile = `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><w:document><w:body>${body}</w:body></w:document>`;
    const { office } = await import("./files.ts");
    const file = office("word/document.xml", { "word/document.xml": new TextEncoder().encode(hostile) });
    const { text } = await place.inspectHere("a.docx", file);
    expect(text).toContain("&a;&b;\nend");
    expect(text).not.toMatch(/aaaa[^"]|root:/);
  });
});

describe("an Excel workbook", () => {
  const styles =
    '<numFmts><numFmt numFmtId="170" formatCode="[$-407]dd.mm.yy;@"/><numFmt numFmtId="171" formatCode="0.0&quot; days&quot;"/></numFmts>' +
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="22"/></cellXfs>';
  const rows = [
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>in line</t></is></c></row>',
    '<row r="2"><c r="A2" s="1"><v>46082</v></c><c r="B2" s="2"><v>46082</v></c><c r="D2" s="3"><v>46082</v></c><c r="E2" s="4"><v>46082.6041666667</v></c></row>',
    '<row r="3"><c r="A3"><v>0.30000000000000004</v></c><c r="B3" t="b"><v>1</v></c><c r="C3" t="e"><v>#DIV/0!</v></c><c r="D3" t="str"><f>A1</f><v>two\nlines</v></c></row>',
  ].join("");

  test("comes as rows with tabs, dates as dates, formulas as results", async () => {
    const look = await place.inspect("a.xlsx", xlsx([{ name: "Costs &amp; more", rows }], ["shared"], styles));
    expect(look.summary).toMatch(/^Excel workbook, 1 sheet, .*\nSheets: Costs & more$/);
    expect(look.text?.split("\n")).toEqual([
      "[sheet 1: Costs & more]",
      "shared\tin line",
      "2026-03-01\t2026-03-01\t\t46082\t2026-03-01 14:30:00",
      "0.3\tTRUE\t#DIV/0!\ttwo lines",
    ]);
  });

  test("is read by sheets, and a long sheet by rows", async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `<row><c><v>${index + 1}</v></c></row>`).join("");
    const file = xlsx([
      { name: "One", rows: "" },
      { name: "Two", rows: many },
    ]);
    expect(await place.pages("a.xlsx", file, { firstPage: 2, lastPage: 2, firstLine: 4_001, lines: 2 })).toMatchObject({
      ...{ unit: "sheet", count: 2, names: ["One", "Two"], firstLine: 4_001, lastLine: 4_002, totalLines: 5_001 },
      text: "4000\n4001",
    });
  });

  test("with a cell far out takes no more room than its limit", async () => {
    const far = xlsx([{ name: "x", rows: '<row><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>'.repeat(1_000) }]);
    expect((await place.inspectHere("a.xlsx", far)).text).toBe(`[sheet 1: x]\n${"1\n".repeat(1_000)}`.trim());
  });
});

test("a presentation comes slide by slide in their order, with notes", async () => {
  const slides = [{ lines: ["Hello", "&lt;world&gt;"] }, { lines: ["Second"], notes: "say hi" }];
  const look = await place.inspect("a.pptx", pptx(slides));
  expect(look.summary).toMatch(/^PowerPoint presentation, 2 slides, /);
  expect(look.text).toBe("[slide 1]\nHello\n<world>\n[slide 2]\nSecond\nNotes:\nsay hi");
  expect(await place.pages("a.pptx", pptx(slides), { firstPage: 2 })).toMatchObject({
    unit: "slide",
    count: 2,
    firstPage: 2,
  });
});

test("an archive is listed, with harmless names, and not unpacked", async () => {
  const archive = zipSync({ "a/b.txt": Buffer.from("hello"), "../up\u202egpj.exe": new Uint8Array(2_000) });
  const look = await place.inspect("a.zip", archive);
  expect(look.summary.split("\n")).toEqual([
    expect.stringMatching(/^zip archive, 2 files, .* unpacked 2\.0 KiB by its own account$/),
    "a/b.txt  5 B",
    "../upgpj.exe  2.0 KiB",
  ]);
  expect(await place.pages("a.zip", archive)).toMatchObject({
    type: "problem",
    message: expect.stringContaining("Unpack it"),
  });
});
