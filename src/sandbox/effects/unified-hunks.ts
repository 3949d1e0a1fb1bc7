/** Formats line edits as hunks of a unified diff, with three lines of context. */
import type { LineEdit } from "./line-diff.ts";

interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

const contextLines = 3;

export function formatHunks(edits: readonly LineEdit[]): string {
  const text: string[] = [];
  for (const { oldStart, oldLines, newStart, newLines, lines } of createHunks(edits)) {
    text.push(`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@\n`);
    for (const line of lines) text.push(line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`);
  }
  return text.join("");
}

function createHunks(edits: readonly LineEdit[]): Hunk[] {
  const hunks: Hunk[] = [];
  let [oldLine, newLine] = [1, 1];
  let open: Hunk | undefined;

  function begin(context: readonly string[]): Hunk {
    const count = context.length;
    const lines = context.map((line) => ` ${line}`);
    return { oldStart: oldLine - count, oldLines: count, newStart: newLine - count, newLines: count, lines };
  }

  for (const [at, edit] of edits.entries()) {
    const count = edit.lines.length;
    if (edit.type === "same") {
      const isLast = at === edits.length - 1;
      const bridges = open !== undefined && !isLast && count <= contextLines * 2;
      const after = open === undefined ? [] : bridges ? edit.lines : edit.lines.slice(0, contextLines);
      for (const line of after) open?.lines.push(` ${line}`);
      if (open !== undefined) {
        open.oldLines += after.length;
        open.newLines += after.length;
      }
      oldLine += count;
      newLine += count;
      if (!bridges) {
        if (open !== undefined) hunks.push(open);
        open = isLast ? undefined : begin(edit.lines.slice(-contextLines));
      }
      continue;
    }
    open ??= begin([]);
    const mark = edit.type === "removed" ? "-" : "+";
    for (const line of edit.lines) open.lines.push(`${mark}${line}`);
    if (edit.type === "removed") {
      open.oldLines += count;
      oldLine += count;
    } else {
      open.newLines += count;
      newLine += count;
    }
  }
  if (open !== undefined && (open.oldLines > 0 || open.newLines > 0)) hunks.push(open);
  return hunks;
}

/** Like git, numbers an empty side by the line before it and omits a count of one. */
function range(start: number, lines: number): string {
  if (lines === 0) return `${start - 1},0`;
  return lines === 1 ? `${start}` : `${start},${lines}`;
}
