/**
 * Reads a unified diff: what each of its lines is. Nothing is left out, so the texts joined by newlines are the diff again.
 *
 * The counts of a hunk say which lines are content, so that a deleted line `-- x`, which reads `--- x`, is no file header.
 * The page and the dashboard each have this file, because neither can load what is of the other; a test keeps them alike.
 */

/** Of `{ kind, text }`: kind is `file` (a file begins), `meta`, `hunk`, `added`, `removed` or `context`. */
export function diffLines(diff) {
  /** Lines of the open hunk that are still to come, on the old and the new side. */
  const left = { old: 0, new: 0 };
  let isAfterContent = true;
  return diff.split("\n").map((text) => {
    const kind = contentKind(text, left) ?? headerKind(text, left, isAfterContent);
    isAfterContent = kind !== "file" && kind !== "meta";
    return { kind, text };
  });
}

function contentKind(text, left) {
  if (left.old <= 0 && left.new <= 0) return undefined;
  if (text.startsWith("\\")) return "context";
  const isContent = text === "" || " +-".includes(text[0]);
  if (!isContent) {
    // The diff was cut here.
    Object.assign(left, { old: 0, new: 0 });
    return undefined;
  }
  if (!text.startsWith("+")) left.old -= 1;
  if (!text.startsWith("-")) left.new -= 1;
  if (text.startsWith("+")) return "added";
  return text.startsWith("-") ? "removed" : "context";
}

function headerKind(text, left, isAfterContent) {
  const [, old, added] = text.match(/^@@ -(\d+(?:,\d+)?) \+(\d+(?:,\d+)?) @@/) ?? [];
  if (old !== undefined) {
    Object.assign(left, { old: countOf(old), new: countOf(added) });
    return "hunk";
  }
  if (text.startsWith("diff ")) return "file";
  // Without a `diff` line before them, these two begin a file.
  if (text.startsWith("--- ")) return isAfterContent ? "file" : "meta";
  if (text.startsWith("+++ ")) return "meta";
  if (text.startsWith("+")) return "added";
  if (text.startsWith("-")) return "removed";
  return text.startsWith(" ") || text === "" ? "context" : "meta";
}

function countOf(range) {
  return Number(range.split(",")[1] ?? 1);
}
