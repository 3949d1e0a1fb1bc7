/** Reads the text of Word and PowerPoint parts as lines: one for each paragraph, and one for each row of a table. */
import { xmlTokens } from "./xml.ts";

/** Returned in place of a line where the document marks the end of a page. */
export const pageBreak = Symbol("page break");

const breaks = new Set(["lastRenderedPageBreak"]);

export function* paragraphsOf(xml: string): Generator<string | typeof pageBreak> {
  let line = "";
  let prefix = "";
  let isText = false;
  /** Depth inside elements whose text repeats other text, such as fallbacks for old readers. */
  let skippedDepth = 0;
  /** Rows that are still open; several if a table is nested in a cell. */
  const rows: string[][] = [];

  for (const token of xmlTokens(xml)) {
    if (token.type === "text") {
      if (isText && skippedDepth === 0) line += token.text;
      continue;
    }
    const { name } = token;
    const isOpen = token.type === "open";
    if (name === "Fallback") skippedDepth += isOpen ? 1 : -1;
    if (skippedDepth > 0) continue;
    if (name === "t") isText = isOpen;
    else if (isOpen && name === "tab") line += line === "" ? "" : "\t";
    else if (isOpen && breaks.has(name)) yield pageBreak;
    else if (isOpen && name === "br") {
      if (token.attributes("w:type") === "page") yield pageBreak;
      else line += "\n";
    } else if (isOpen && name === "pStyle") prefix = styleMark(token.attributes("w:val") ?? "") || prefix;
    else if (isOpen && name === "numPr") prefix ||= "- ";
    else if (isOpen && name === "tc") rows.at(-1)?.push("");
    else if (name === "tr") {
      if (isOpen) rows.push([]);
      else yield* finishedRow(rows);
    } else if (name === "p" && !isOpen) {
      const row = rows.at(-1);
      if (row !== undefined) addToCell(row, line);
      else yield* `${line === "" ? "" : prefix}${line}`.split("\n");
      line = "";
      prefix = "";
    }
  }
  if (line !== "") yield line;
}

/** A row of a table within a cell becomes part of that cell. */
function* finishedRow(rows: string[][]): Generator<string> {
  const row = rows.pop();
  if (row === undefined) return;
  const text = row.join(" | ");
  const outer = rows.at(-1);
  if (outer === undefined) yield text;
  else addToCell(outer, text);
}

function addToCell(row: string[], line: string): void {
  const cell = row.pop() ?? "";
  row.push(`${cell} ${line.replaceAll("\n", " ")}`.trim());
}

/** Word uses English ids for built-in styles in every language. Only people's own styles differ. */
function styleMark(style: string): string {
  if (/^List(?:Bullet|Number)/.test(style)) return "- ";
  const level = /^Heading([1-6])$/i.exec(style)?.[1];
  if (level !== undefined) return `${"#".repeat(Number(level))} `;
  return style === "Title" ? "# " : "";
}
