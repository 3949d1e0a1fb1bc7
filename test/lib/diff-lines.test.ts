import fc from "fast-check";
import { expect, test } from "vitest";

const file = new URL("../../src/lib/diff-lines.js", import.meta.url);
const { diffLines }: { diffLines(diff: string): { kind: string; text: string }[] } = await import(file.href);

function kindsOf(lines: string[]): string[] {
  return diffLines(lines.join("\n")).map(({ kind }) => kind);
}

test("nothing is left out or changed, whatever the text is", () => {
  const line = fc.oneof(
    fc.constantFrom(
      "@@ -1,2 +3 @@",
      "@@ -1 +1,9999999 @@",
      "--- a",
      "+++ b",
      "diff --git a b",
      "",
      "+",
      "-",
      " x",
      "\\ no",
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
      const diff = lines.join("\n");
      expect(
        diffLines(diff)
          .map(({ text }) => text)
          .join("\n"),
      ).toBe(diff);
    }),
  );
});

test("a file with a hunk", () => {
  expect(
    kindsOf(["diff --git a/x b/x", "index 1..2", "--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@ f()", " a", "-b", "+c", ""]),
  ).toEqual(["file", "meta", "meta", "meta", "hunk", "context", "removed", "added", "context"]);
});

test("deleted and added lines that read like file headers are content", () => {
  expect(kindsOf(["@@ -1,2 +1,2 @@", "--- a/x", "+++ b/x", "-diff", "+@@ -1 +1 @@", "--- a/y", "+++ b/y"])).toEqual([
    ...["hunk", "removed", "added", "removed", "added"],
    ...["file", "meta"],
  ]);
});

test("a hunk that was cut ends where something else begins", () => {
  expect(kindsOf(["@@ -1,50 +1,50 @@", "-a", "and 49 more lines", "diff --git a/y b/y", "--- a/y"])).toEqual([
    ...["hunk", "removed", "meta"],
    ...["file", "meta"],
  ]);
});

test("lines without any header are read by their sign", () => {
  expect(kindsOf(["+a", "-b", " c", "Binary files differ"])).toEqual(["added", "removed", "context", "meta"]);
});
