/** Names of saved files, for any name that people choose. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { attributeText } from "../../src/context/fence.ts";
import { fileNames, messageFolder, safeFileName } from "../../src/files/safe-names.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { runs } from "../faults/share.ts";

const hostile = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 400 }),
  fc.string({ unit: fc.constantFrom(..."./\\ -_~a%\0\n\t\u202e\u200b\u0301é漢😀<>&\"'`$;|*?:"), maxLength: 300 }),
  fc.constantFrom("CON", "nul.txt", "..", ".", "", "   ", ".env", "-rf", "a".repeat(5_000), "漢".repeat(300)),
);

test.each([
  ["report.pdf", "report.pdf"],
  ["Übersicht März 2026.csv", "Übersicht März 2026.csv"],
  ["../../etc/passwd", "__._etc_passwd"],
  ["a/b\\c.txt", "a_b_c.txt"],
  ["invoice\u202efdp.exe", "invoicefdp.exe"],
  ["line\nbreak\u0000.txt", "line break_.txt"],
  [".bashrc", "_bashrc"],
  ["-rf", "_rf"],
  ["con.txt", "_con.txt"],
  ["$(reboot).sh", "_(reboot).sh"],
  ["", "file"],
  ["....", "file"],
  [`${"long ".repeat(60)}.tar.gz`, /^(?:long ){19}lo\.gz$/],
])("%j is saved as %s", (name, expected) => {
  if (typeof expected === "string") expect(safeFileName(name)).toBe(expected);
  else expect(safeFileName(name)).toMatch(expected);
});

test("any name becomes one part of a path that file systems, shells and the prompt can use", () => {
  fc.assert(
    fc.property(hostile, (name) => {
      const safe = safeFileName(name);
      expect(safe).toMatch(/^[^/\\\0\p{Cc}\p{Cf}\p{Cs}<>&"'`$;|*?:%~]+$/u);
      expect(safe).not.toMatch(/^[.\-\s]|[.\s]$/);
      expect(safe.length).toBeLessThanOrEqual(100);
      expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(255);
      expect(safe.isWellFormed()).toBe(true);
      expect(safeFileName(safe)).toBe(safe);
      // The model must get the exact path.
      const path = `inbox/${messageFolder({ platform: "slack", id: "C0123456789:1700000000.000100" })}/${safe}`;
      expect(attributeText(path)).toBe(path);
    }),
    { numRuns: runs(2_000) },
  );
});

test("all files of a message have different names, whatever the case, in the order of the message", () => {
  expect(fileNames(["a.txt", "A.TXT", "b", "a.txt"].map((name) => ({ name })))).toEqual([
    "a.txt",
    "A-2.TXT",
    "b",
    "a-3.txt",
  ]);
  fc.assert(
    fc.property(fc.array(fc.oneof(hostile, fc.constantFrom("a", "A", "a-2", "/", "?")), { maxLength: 20 }), (names) => {
      const files = fileNames(names.map((name) => ({ name })));
      expect(files).toHaveLength(names.length);
      expect(new Set(files.map((name) => name.normalize("NFKC").toLowerCase())).size).toBe(names.length);
      for (const name of files) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
    }),
  );
});

test("messages have different short folders, whatever their ids are", () => {
  const ids = ["C1:1.000100", "C1_1_000100", "C1/1.000100", "../C1"];
  const folders = ids.map((id) => messageFolder({ platform: "slack", id }));
  expect(new Set(folders).size).toBe(ids.length);
  for (const folder of folders) expect(folder).toMatch(/^\d{12}$/);
  const many = Array.from({ length: 3_000 }, (_, index) => messageFolder({ platform: "local", id: `${index}` }));
  expect(new Set(many).size).toBe(3_000);
});
