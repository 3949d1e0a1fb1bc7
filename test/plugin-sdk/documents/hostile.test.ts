/** Files that lie, explode or are broken: there is always an answer, within the limits. */
import fc from "fast-check";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scale } from "../../../src/plugin-sdk/documents/picture.ts";
import { runs } from "../../faults/share.ts";
import { docx, docxWith, packedZeros, paragraph, pdf, pdfFile, pptx, rawZip, wav, xlsx } from "./files.ts";
import { type DocumentsPlace, makeDocumentsPlace } from "./place.ts";

let place: DocumentsPlace;
beforeAll(async () => {
  place = await makeDocumentsPlace();
});
afterAll(() => place.remove());

const maxSummaryCharacters = 12_000;

describe("a zip bomb", () => {
  test("that says its size is not unpacked", async () => {
    const file = docxWith({ packed: packedZeros(3), bytes: 3 * 1024 ** 3 });
    expect((await place.inspect("a.docx", file)).problem).toContain("a zip bomb");
  });

  test("of 10 GB that says that it is small ends within the limits", async () => {
    const packed = packedZeros(10);
    const look = await place.inspect("a.docx", docxWith({ packed, bytes: packed.length + 1_000 }));
    expect(look.problem).toMatch(/damaged|took too long|too much memory/);
    expect(look.text).toBeUndefined();
  });

  test("inside a document is left alone", async () => {
    const inner = rawZip([{ name: "zeros", packed: packedZeros(1), bytes: 1024 ** 3 }]);
    const { office, wordPart } = await import("./files.ts");
    const parts = { "word/document.xml": wordPart(paragraph("hello")), "word/embeddings/bomb.zip": inner };
    expect((await place.inspect("a.docx", office("word/document.xml", parts))).text).toBe("hello");
  });

  test("of many entries is not listed to its end", async () => {
    const entries = Array.from({ length: 30_000 }, (_, index) => ({
      name: `${index}`,
      packed: new Uint8Array(),
      bytes: 0,
    }));
    expect((await place.inspect("a.zip", rawZip(entries))).problem).toContain("more than 20,000 entries");
  });
});

describe("a PDF", () => {
  test("of 10,000 pages is looked at only at its start, and its pages are counted", async () => {
    const file = pdf(Array.from({ length: 10_000 }, (_, index) => [`page number ${index + 1}`]));
    const look = await place.inspect("a.pdf", file);
    expect(look.summary).toMatch(/^PDF, 10,000 pages, .*page number 1\n/s);
    expect(look.summary).not.toContain("page number 31");
    const last = await place.pages("a.pdf", file, { firstPage: 10_000, lastPage: 10_000 });
    expect(last).toMatchObject({ count: 10_000, text: "[page 10000]\npage number 10000" });
  });

  test("whose pages lead to themselves ends", async () => {
    const file = pdfFile(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 5 /Kids [2 0 R 2 0 R] >>"]);
    const look = await place.inspect("a.pdf", file);
    expect(`${look.text} ${look.problem}`).toContain("damaged");
  });

  test("with a page of a million words is cut", async () => {
    const words = "BT /F1 12 Tf 72 700 Td (some words here) Tj ET\n".repeat(300_000);
    const file = pdfFile([
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
      `<< /Length ${words.length} >>\nstream\n${words}\nendstream`,
    ]);
    const look = await place.inspect("a.pdf", file);
    expect(look.summary).toMatch(/^PDF, 1 page, .*It begins:\nsome words here/s);
    expect(look.summary.length).toBeLessThan(maxSummaryCharacters);
  });
});

test("XML that is never closed ends", async () => {
  const body = `<w:p>${'<w:t a="<'.repeat(20_000)}`;
  expect(await place.inspectHere("a.docx", docx(body))).toBeDefined();
});

const small = async (format: "jpeg" | "png" | "webp" | "gif" | "tiff" | "avif") => {
  const noise = { type: "gaussian" as const, mean: 128, sigma: 50 };
  const picture = sharp({ create: { width: 60, height: 40, channels: 3, background: "red", noise } });
  return [`a.${format}`, await picture.toFormat(format).toBuffer()] as const;
};

/** Cut, overwritten or extended somewhere, or not at all the type. */
function damaged(bytes: Uint8Array) {
  const at = fc.nat(bytes.length - 1);
  const garbage = fc.uint8Array({ minLength: 1, maxLength: 30 });
  return fc.oneof(
    at.map((end) => Buffer.from(bytes.subarray(0, end))),
    fc.tuple(at, garbage).map(([start, put]) => {
      const copy = Buffer.from(bytes);
      copy.set(put.subarray(0, copy.length - start), start);
      return copy;
    }),
    fc.tuple(at, garbage).map(([start, put]) => Buffer.concat([bytes.subarray(0, start), put, bytes.subarray(start)])),
    fc
      .tuple(fc.integer({ min: 4, max: 40 }), fc.uint8Array({ maxLength: 500 }))
      .map(([kept, rest]) => Buffer.concat([bytes.subarray(0, kept), rest])),
  );
}

function expectAnswer({ summary, problem, text, image }: Awaited<ReturnType<DocumentsPlace["inspect"]>>): void {
  expect(summary.length).toBeLessThan(maxSummaryCharacters);
  expect((text ?? "").length).toBeLessThanOrEqual(210_000);
  expect((image?.base64 ?? "").length).toBeLessThan(600_000);
  if (problem !== undefined) expect(problem).toMatch(/^[A-Z].*\.$/s);
}

describe("hundreds of damaged files have an answer:", () => {
  const cases = [
    ["a.docx", docx(`${paragraph("hello")}<w:tbl><w:tr><w:tc>${paragraph("x")}</w:tc></w:tr></w:tbl>`, "T")],
    ["a.xlsx", xlsx([{ name: "S", rows: '<row><c r="A1" t="s"><v>0</v></c></row>' }], ["text"])],
    ["a.pptx", pptx([{ lines: ["one"], notes: "note" }, { lines: ["two"] }])],
    ["a.csv", Buffer.from('\ufeffname;amount\nü;1\n"x\n', "utf16le")],
    ["a.json", Buffer.from('[{"a":[1,2,{"b":null}]}]')],
    ["a.wav", wav(1).subarray(0, 200)],
    ["a.ogg", Buffer.from("OggS\0\x02\0\0\0\0\0\0\0\0....OpusHead OggS\0\x04\x80\xbb\0\0\0\0\0\0", "latin1")],
    ["a.m4a", Buffer.from("\0\0\0\x14ftypM4A \0\0\0\0M4A \0\0\0\x70moov\0\0\0\x6cmvhd".padEnd(140, "\0"), "latin1")],
  ] as const;

  test.each(cases)("%s", async (name, bytes) => {
    await fc.assert(
      fc.asyncProperty(damaged(bytes), async (file) => expectAnswer(await place.inspectHere(name, file))),
      { numRuns: runs(150) },
    );
  });

  test.each(["jpeg", "png", "webp", "gif", "tiff", "avif"] as const)("%s", async (format) => {
    const [, bytes] = await small(format);
    await fc.assert(
      fc.asyncProperty(damaged(bytes), async (file) => {
        const result = await scale({ picture: file });
        expect(result.type === "problem" || result.base64.length < 600_000).toBe(true);
      }),
      { numRuns: runs(150) },
    );
  });

  test("PDF, each in a process of its own", async () => {
    const file = pdf([["one", "two"], ["three"]], "/Title (T)");
    await fc.assert(
      fc.asyncProperty(damaged(file), async (bytes) => expectAnswer(await place.inspect("a.pdf", bytes))),
      { numRuns: runs(100) },
    );
  });
});
