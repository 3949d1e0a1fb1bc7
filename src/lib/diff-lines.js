/**
 * Reads a unified diff and classifies each of its lines. Nothing is left out: joining the texts with newlines restores the
 * diff.
 *
 * The counts in a hunk's header say which lines are content so that a deleted line `-- x`, which reads `--- x` in the
 * diff, is not taken for a file header. This file runs in the browser: the page and the dashboard both serve it.
 */

/** Returns a list of `{ kind, text }`: kind is `file` (a file begins), `meta`, `hunk`, `added`, `removed` or `context`. */
export function diffLines(diff) {
  /** Number of lines still to come in the open hunk, on the old and the new side. */
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
    // The diff was truncated here.
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
  // Without a preceding `diff` line, these two lines begin a file.
  if (text.startsWith("--- ")) return isAfterContent ? "file" : "meta";
  if (text.startsWith("+++ ")) return "meta";
  if (text.startsWith("+")) return "added";
  if (text.startsWith("-")) return "removed";
  return text.startsWith(" ") || text === "" ? "context" : "meta";
}

function countOf(range) {
  return Number(range.split(",")[1] ?? 1);
}
