/** A look at text, tables, JSON and other files that are not documents. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wav } from "./files.ts";
import { type DocumentsPlace, makeDocumentsPlace } from "./place.ts";

let place: DocumentsPlace;
beforeAll(async () => {
  place = await makeDocumentsPlace();
});
afterAll(() => place.remove());

const utf16 = (text: string, mark = "\ufeff") => Buffer.from(`${mark}${text}`, "utf16le");

describe("text", () => {
  test("comes whole up to 200 KB, in the encoding that it has", async () => {
    const text = "Grüße, café – 日本語\nzwei\n";
    const look = await place.inspect("a.txt", text);
    expect(look).toEqual({ mimeType: "text/plain", summary: "text, 2 lines, 34 B", text });
    expect(await place.inspectHere("a.txt", utf16(text))).toMatchObject({
      text,
      summary: expect.stringContaining("UTF-16LE"),
    });
    expect((await place.inspectHere("a.txt", utf16(text).swap16())).text).toBe(text);
    expect((await place.inspectHere("a.txt", utf16("plain ASCII\n", ""))).text).toBe("plain ASCII\n");
    expect((await place.inspectHere("a.txt", Buffer.from("caf\xe9 \x80 5", "latin1"))).text).toBe("café € 5");
  });

  test("that stops being UTF-8 later is read as Windows-1252", async () => {
    const bytes = Buffer.concat([Buffer.from("plain\n".repeat(5_000)), Buffer.from([0xe9, 0x0a])]);
    expect((await place.inspectHere("a.txt", bytes)).text?.endsWith("plain\né\n")).toBe(true);
  });

  test("of 20 MB comes as its beginning, with the number of its lines", async () => {
    const look = await place.inspect("log.txt", `${"x".repeat(99)}\n`.repeat(200_000));
    expect(look.summary).toMatch(/^text, 200,000 lines, 19\.1 MiB\. It begins:\nx{99}\n/);
    expect(look.summary.length).toBeLessThan(2_200);
    expect(look.text).toBeUndefined();
  });

  test("in one line of 20 MB is no trouble", async () => {
    const look = await place.inspectHere("a.csv", `"${"x".repeat(20_000_000)}`);
    expect(look.summary).toMatch(/table of 0 rows before a row that can't be read.*1 line/s);
    expect(look.summary.length).toBeLessThan(3_000);
  });
});

describe("a table", () => {
  test("comes with its columns, number of rows, and the first rows", async () => {
    const rows = Array.from({ length: 50_000 }, (_, index) => `${index},"name, ${index}",1.5`);
    const look = await place.inspect("data.csv", `id,name,amount\n${rows.join("\n")}\n`);
    expect(look.mimeType).toBe("text/csv");
    expect(look.summary).toMatch(/^table of 50,000 rows and 3 columns \(id, name, amount\), 50,001 lines/);
    expect(look.summary).toContain("id | name | amount\n0 | name, 0 | 1.5\n1 | name, 1 | 1.5");
  });

  test("in UTF-16 with semicolons, as Excel writes it, is read", async () => {
    const look = await place.inspectHere("Bücher.csv", utf16("Titel;Preis\r\nÜber;1,5\r\n"));
    expect(look.summary).toMatch(/^table of 1 row and 2 columns \(Titel, Preis\)/);
    expect(look.text).toContain("Über;1,5");
    expect((await place.inspectHere("a.tsv", "a\tb\n1\t2\n")).mimeType).toBe("text/tab-separated-values");
  });

  test("has column names that can't hide or turn anything", async () => {
    const look = await place.inspectHere("a.csv", "a\u202eb,\u200b\n1,2\n");
    expect(look.summary).toContain("(ab, (no name))");
  });
});

test("JSON comes with its shape", async () => {
  const summary = async (text: string) => (await place.inspectHere("a.json", text)).summary;
  expect(await summary('{"name":"x","list":[]}')).toMatch(/^JSON object with name, list, 1 line/);
  expect(await summary('[{"a":1},{"a":2}]')).toMatch(/^JSON array of 2 entries, the first: JSON object with a/);
  expect(await summary('{"a":1}\n{"a":2}\n')).toMatch(/^JSON lines, each JSON object with a/);
  expect(await summary('{"a":')).toMatch(/^text, 1 line/);
});

describe("other files", () => {
  test("that are empty, gone, folders or no files at all have a sentence", async () => {
    expect(await place.inspect("a.pdf", "")).toMatchObject({ summary: "The file is empty." });
    const { createFileInspector } = await import("../../../src/plugin-sdk/documents/file-inspector.ts");
    const look = (path: string) => createFileInspector().inspect({ path, name: "x" }, new AbortController().signal);
    expect((await look(`${place.folder}/missing`)).problem).toContain("It may have been deleted");
    expect((await look(place.folder)).problem).toContain("no ordinary file");
  });

  test("are known by type and size, and sound by its length", async () => {
    expect(await place.inspect("note.ogg", wav(75))).toEqual({
      ...{ mimeType: "audio/wav", summary: "WAV sound, 1 min 15 s, 586.0 KiB" },
    });
    expect((await place.inspectHere("a.exe", Buffer.from("MZ\0\0\x01\x02"))).summary).toContain("unknown type");
    const old = Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600)]);
    expect((await place.inspectHere("a.doc", old)).problem).toMatch(/Old Office files.*Save the file as docx/);
  });

  test("an aborted look rejects", async () => {
    const aborted = AbortSignal.abort(new Error("stopped"));
    await expect(place.inspect("a.txt", "x", aborted)).rejects.toThrow("stopped");
  });
});
