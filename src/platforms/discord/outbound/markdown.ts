/**
 * Converts standard Markdown, even unfinished, to what Discord displays. Tables become aligned code blocks, or lists if
 * wide; headings below ### become bold. Other unsupported syntax gets the nearest equivalent. Code is left unchanged.
 */
import { type Line, scanLines } from "../../shared/markdown-lines.ts";
import { plainCell, tableAsText } from "./markdown-table.ts";

/** Fences are not repeated here, so their opening lines may have any length. */
const anyLength = Number.POSITIVE_INFINITY;

export function toDiscordMarkdown(markdown: string): string {
  const lines = scanLines(markdown, anyLength);
  const converted: string[] = [];
  for (let index = 0; index < lines.length; ) {
    const line = lines[index] as Line;
    if (line.type === "table-head") {
      const rows = tableFrom(lines, index);
      converted.push(tableAsText(rows.map((row) => lineText(markdown, row)).filter((_, at) => at !== 1)));
      index += rows.length;
      continue;
    }
    converted.push(lineAsText(lineText(markdown, line), line));
    index++;
  }
  return converted.join("\n");
}

function lineText(markdown: string, { start, end }: Line): string {
  return markdown.slice(start, end).replace(/\r$/, "");
}

function tableFrom(lines: Line[], from: number): Line[] {
  let end = from + 1;
  while (lines[end]?.type === "table-delimiter" || lines[end]?.type === "table-row") end++;
  return lines.slice(from, end);
}

function lineAsText(text: string, { type, fence }: Line): string {
  switch (type) {
    case "fence-open":
      return openingOf(fence?.prefix ?? "", fence?.info.trim() ?? "");
    case "fence-close":
      return `${fence?.prefix ?? ""}\`\`\``;
    case "fence-body":
      return text.replace(/`(?=``)/g, "`\u200b");
    case "blank":
      return "";
    case "text":
    case "block":
    case "table-head":
    case "table-delimiter":
    case "table-row":
      return proseAsText(text);
    default:
      return type satisfies never;
  }
}

/** Discord accepts one word as the language, so settings after it are dropped. */
function openingOf(prefix: string, info: string): string {
  const [, language = ""] = /^([A-Za-z][\w+\-.#]*)(?:\s+[\w\s="'{}.,:/-]*)?$/.exec(info) ?? [];
  return `${prefix}\`\`\`${language === "" && info !== "" ? `\n${prefix}${info}` : language}`;
}

function proseAsText(line: string): string {
  const [, heading] = /^ {0,3}#{4,6}[ \t]+(.*)$/.exec(line) ?? [];
  if (heading !== undefined) {
    const title = withoutClosing(heading);
    return title === "" ? line : `**${plainCell(title)}**`;
  }
  if (/^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/.test(line)) return "─────";
  return outsideCode(
    line
      .replace(/^((?:[ \t]*>)*[ \t]*)\+(?=[ \t])/, "$1-")
      .replace(/^((?:[ \t]*>)*[ \t]*\d{1,9})\)(?=[ \t])/, "$1.")
      .replace(
        /^((?:[ \t]*>)*[ \t]*[-*][ \t]+)\[([ xX])\](?=[ \t])/,
        (_whole, before: string, mark: string) => before + (mark === " " ? "☐" : "☑"),
      )
      .replace(/([^\\])\\$/, "$1"),
    (text) => text.replace(/!(\[[^\]]{0,500}\]\()/g, "$1").replace(/<br[ \t]*\/?>/gi, "\n"),
  );
}

/** Without the number signs that may end a heading. A pattern would look at a long row of blanks again and again. */
function withoutClosing(heading: string): string {
  let end = heading.length;
  while (heading[end - 1] === "#") end--;
  return heading.slice(0, end).trimEnd();
}

function outsideCode(line: string, change: (text: string) => string): string {
  return line
    .split(/((?<!`)`[^`]+`(?!`)|(?<!`)``[^`].{0,500}?[^`]``(?!`))/)
    .map((piece, index) => (index % 2 === 1 ? piece : change(piece)))
    .join("");
}
