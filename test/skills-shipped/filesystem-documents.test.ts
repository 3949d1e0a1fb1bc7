/** read_file of documents, pictures, and text of any size and encoding. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import plugin from "../../skills/filesystem/plugin.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { blankPng, docx, paragraph, pdf, xlsx } from "../plugin-sdk/documents/files.ts";
import { isOk, makeDraftPlace, makePlace, type TestPlace, textOf } from "./place.ts";

let place: TestPlace;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const put = (name: string, content: string | Uint8Array) => writeFile(join(place.workingFolder, name), content);
const read = async (path: string, more: JsonObject = {}) =>
  await plugin.execute("read_file", { path, ...more }, place.context("filesystem"));
const textOfFile = async (path: string, more?: JsonObject) => textOf(await read(path, more));

describe("a document", () => {
  beforeEach(() => put("long.pdf", pdf(Array.from({ length: 45 }, (_, index) => [`this is page ${index + 1}`]))));

  test("comes by pages, and each part says how to continue until there is no more", async () => {
    const first = await textOfFile("long.pdf");
    expect(first).toMatch(
      /^\(long\.pdf, pages 1 to 20 of 45; continue with pages "21-40"\)\n\[page 1\]\nthis is page 1\n/,
    );
    expect(await textOfFile("long.pdf", { pages: "41-45" })).toMatch(
      /^\(long\.pdf, pages 41 to 45 of 45\)\n\[page 41\]/,
    );
    expect(await textOfFile("long.pdf", { pages: "44-99" })).toMatch(/^\(long\.pdf, pages 44 to 45 of 45\)/);
    expect(await textOfFile("long.pdf", { pages: "3" })).toMatch(
      /^\(long\.pdf, page 3 of 45; continue with pages "4"\)/,
    );
  });

  test("has lines as well", async () => {
    expect(await textOfFile("long.pdf", { pages: "1-10", limit: 3 })).toBe(
      '(long.pdf, pages 1 to 2 of 45, lines 1 to 3 of 4; continue with pages "1-2", offset 4)\n[page 1]\nthis is page 1\n[page 2]',
    );
  });

  test.each(["0", "7-3", "all", "1,2", "-1"])("refuses %s as pages", async (pages) => {
    expect(await textOfFile("long.pdf", { pages })).toMatch(/is not a page or a range: give "3" or "3-7"/);
  });

  test("says what is wrong with it or with the request", async () => {
    expect(await textOfFile("long.pdf", { pages: "46" })).toContain("There is no page 46; the document has 45.");
    expect(await textOfFile("long.pdf", { offset: 500 })).toContain("so line 500 does not exist");
    await put("broken.pdf", "%PDF-1.7 nothing");
    expect(isOk(await read("broken.pdf"))).toBe(false);
    expect(await textOfFile("broken.pdf")).toContain("[broken.pdf] The PDF is damaged or incomplete.");
    await put("a.txt", "x");
    expect(await textOfFile("a.txt", { pages: "1" })).toContain("has no pages: use offset and limit");
  });
});

test("a workbook names its sheets, and the rows of a sheet are lines", async () => {
  const rows = Array.from({ length: 3_000 }, (_, index) => `<row><c><v>${index + 1}</v></c></row>`).join("");
  await put(
    "a.xlsx",
    xlsx([
      { name: "Big", rows },
      { name: "Small", rows: "<row><c><v>7</v></c></row>" },
    ]),
  );
  expect(await textOfFile("a.xlsx")).toMatch(
    /^\(a\.xlsx, sheet 1 of 2, lines 1 to 2000 of 3001; continue with pages "1", offset 2001\)\n\(sheets: Big, Small\)\n\[sheet 1: Big\]\n1\n2\n/,
  );
  expect(await textOfFile("a.xlsx", { pages: "1", offset: 3_001 })).toMatch(/lines 3001 to 3001 of 3001; .*\n3000$/s);
  expect(await textOfFile("a.xlsx", { pages: "2" })).toBe("(a.xlsx, sheet 2 of 2)\n[sheet 2: Small]\n7");
});

test("a picture is shown, whatever its name says", async () => {
  await put("chart.txt", blankPng(20, 10));
  expect(await read("chart.txt")).toMatchObject({
    ...{ success: true, output: expect.stringContaining("is a PNG picture"), images: [{ path: "chart.txt" }] },
  });
});

describe("text", () => {
  test("of 40 MB is read by lines", async () => {
    await put("log.txt", Array.from({ length: 400_000 }, (_, index) => String(index + 1).padEnd(100)).join("\n"));
    const text = await textOfFile("log.txt", { offset: 399_998, limit: 2 });
    expect(text).toMatch(
      /^\(log\.txt, lines 399998 to 399999 of 400000; continue with offset 400000\)\n399998 +\n399999 +$/,
    );
  });

  test("in one line of 40 MB is cut, and says how long it is", async () => {
    await put("line.txt", `${"é".repeat(20_000_000)}\nnext`);
    const text = await textOfFile("line.txt");
    expect(text.length).toBeLessThan(201_000);
    expect(text).toContain("this line has 20000000 characters and is cut here");
    expect(await textOfFile("line.txt", { offset: 2 })).toBe("(line.txt, lines 2 to 2 of 2)\nnext");
  });

  test("in UTF-16 or Windows-1252 is decoded", async () => {
    await put("a.csv", Buffer.from("\ufeffGröße;1\r\n", "utf16le"));
    expect(await textOfFile("a.csv")).toBe("Größe;1\r");
    await put("b.txt", Buffer.from("caf\xe9 au lait", "latin1"));
    expect(await textOfFile("b.txt")).toBe("café au lait");
  });
});

test("a document of a draft is read through the draft's view", async () => {
  const draft = await makeDraftPlace();
  try {
    await writeFile(join(draft.workingFolder, "a.docx"), docx(paragraph("from a draft")));
    await draft.call(plugin, "filesystem", "write_file", { path: "other.txt", content: "x" });
    const { text } = await draft.call(plugin, "filesystem", "read_file", { path: "a.docx" });
    expect(text).toBe("(a.docx, part 1 of 1)\nfrom a draft");
  } finally {
    await draft.remove();
  }
});
