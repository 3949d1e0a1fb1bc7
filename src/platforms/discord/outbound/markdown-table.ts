/** Renders tables as text, because Discord does not render tables. */

/** In columns. A desktop shows more; a phone wraps earlier. */
const maxTableWidth = 72;

/** `rows` are the Markdown rows, header first, without the delimiter row. */
export function tableAsText(rows: string[]): string {
  const cells = rows.map(cellsOf);
  const columns = most(cells, (row) => row.length);
  const widths = Array.from({ length: columns }, (_, column) => most(cells, (row) => widthOf(row[column] ?? "")));
  const total = widths.reduce((sum, width) => sum + width, 0) + 2 * (columns - 1);
  return total > maxTableWidth ? asList(cells) : asBlock(cells, widths);
}

/** `Math.max(...)` would fail on too many rows. */
function most(rows: string[][], measure: (row: string[]) => number): number {
  return rows.reduce((largest, row) => Math.max(largest, measure(row)), 0);
}

function asBlock(cells: string[][], widths: number[]): string {
  const line = (row: string[]) =>
    widths
      .map((width, column) => padded(row[column] ?? "", width))
      .join("  ")
      .trimEnd();
  const [head = [], ...rest] = cells;
  const rule = widths.map((width) => "─".repeat(Math.max(1, width))).join("  ");
  const block = [line(head), rule, ...rest.map(line)].join("\n");
  return `\`\`\`\n${block.replace(/`(?=``)/g, "`\u200b")}\n\`\`\``;
}

function asList([head = [], ...rows]: string[][]): string {
  const lines = rows.map(([first = "", ...others]) => {
    const named = others.flatMap((cell, index) => {
      const name = head[index + 1] ?? "";
      return cell === "" ? [] : [name === "" ? cell : `${name}: ${cell}`];
    });
    return `- **${first === "" ? "–" : first}**${named.length === 0 ? "" : ` — ${named.join(" · ")}`}`;
  });
  return lines.length === 0 ? `**${head.join(" · ")}**` : lines.join("\n");
}

function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^(?:>[ \t]*)+/, "")
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => plainCell(cell.trim()));
}

/** Every pattern is bounded so that no text is slow to read. */
export function plainCell(text: string): string {
  return text
    .replace(/\\\|/g, "|")
    .replace(
      /!?\[([^\]]{0,500})\]\(([^()\s]{0,1000})(?:[ \t]+"[^"]{0,300}")?\)/g,
      (_whole, label: string, url: string) => (label === "" || label === url ? url : `${label} (${url})`),
    )
    .replace(/<br[ \t]*\/?>/gi, " ")
    .replace(/(\*\*|__|~~)(?=\S)(.{1,300}?)(?<=\S)\1/g, "$2")
    .replace(/(?<!`)(`{1,2})(?!`)(.{1,500}?)(?<!`)\1(?!`)/g, "$2");
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]/u;

function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}
