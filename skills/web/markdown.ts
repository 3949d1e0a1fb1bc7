/** Converts a part of a page to Markdown for a model. Does not escape text, because nobody renders the result. */
import { addressOf, isHidden, nodeTypes, type PageNode, skipped, textOf, withoutInvisible } from "./page-node.ts";

interface Writing {
  base: string;
  depth: number;
  /** Remaining budget for link addresses, because a small page could repeat a long address very often. */
  room: { left: number };
}

const deepest = 200;
const maxLinkCharacters = 1_000_000;

const blocks = new Set(
  "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre search section summary table tbody td tfoot th thead tr ul".split(
    " ",
  ),
);

export function toMarkdown(root: PageNode, base: string): string {
  const writing = { base, depth: 0, room: { left: maxLinkCharacters } };
  return blocksOf(root, writing)
    .join("\n\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function blocksOf(node: PageNode, writing: Writing): string[] {
  if (writing.depth > deepest) return [oneLine(textOf(node))];
  const inner = { ...writing, depth: writing.depth + 1 };
  const found: string[] = [];
  let line = "";
  const endLine = () => {
    const paragraph = tidy(line);
    if (paragraph !== "") found.push(paragraph);
    line = "";
  };
  for (const child of node.childNodes) {
    if (isBlock(child)) {
      endLine();
      found.push(...blockOf(child, inner).filter((block) => block.trim() !== ""));
    } else {
      line += inlineOf(child, inner);
    }
  }
  endLine();
  return found;
}

function isBlock(node: PageNode): boolean {
  const name = node.localName ?? "";
  if (node.nodeType !== nodeTypes.element || skipped.has(name)) return false;
  if (blocks.has(name)) return true;
  return name !== "a" && [...node.childNodes].some((child) => blocks.has(child.localName ?? ""));
}

function blockOf(node: PageNode, writing: Writing): string[] {
  if (isHidden(node)) return [];
  const name = node.localName ?? "";
  switch (name) {
    case "h1":
    case "h2":
    case "h3":
    case "h4":
    case "h5":
    case "h6": {
      const title = oneLine(inlinesOf(node, writing));
      return title === "" ? [] : [`${"#".repeat(Number(name.slice(1)))} ${title}`];
    }
    case "hr":
      return ["---"];
    case "pre":
      return [fenced(node)];
    case "blockquote":
      return [prefixed(blocksOf(node, writing).join("\n\n"), "> ", "> ")];
    case "ul":
    case "ol":
      return [listOf(node, writing, name === "ol")];
    case "dt":
      return blocksOf(node, writing).map((term) => `**${oneLine(term)}**`);
    case "table":
      return tableOf(node, writing);
    default:
      return blocksOf(node, writing);
  }
}

function listOf(node: PageNode, writing: Writing, isOrdered: boolean): string {
  const lines: string[] = [];
  for (const child of node.childNodes) {
    if (child.nodeType !== nodeTypes.element || isHidden(child)) continue;
    const content = blocksOf(child, writing).join("\n").trim();
    if (content === "") continue;
    const mark = isOrdered ? `${lines.length + 1}. ` : "- ";
    lines.push(prefixed(content, mark, " ".repeat(mark.length)));
  }
  return lines.join("\n");
}

/** Replaces a table that is used only for layout with its content. */
function tableOf(node: PageNode, writing: Writing): string[] {
  const rows = rowsOf(node, writing.depth);
  const width = Math.max(0, ...rows.map((cells) => cells.length));
  const isLayout = width < 2 || rows.length < 2 || rows.flat().some((cell) => holdsTable(cell, writing.depth));
  if (isLayout) return rows.flat().flatMap((cell) => blocksOf(cell, writing));
  const lines = rows.map((cells) => {
    const texts = cells.map((cell) => oneLine(blocksOf(cell, writing).join(" ")).replaceAll("|", "\\|"));
    return `| ${[...texts, ...Array<string>(width - texts.length).fill("")].join(" | ")} |`;
  });
  lines.splice(1, 0, `|${" --- |".repeat(width)}`);
  return [lines.join("\n")];
}

function rowsOf(node: PageNode, depth: number): PageNode[][] {
  if (depth > deepest) return [];
  return [...node.childNodes].flatMap((child) => {
    if (child.nodeType !== nodeTypes.element || isHidden(child)) return [];
    const name = child.localName ?? "";
    if (name === "tr")
      return [[...child.childNodes].filter(({ localName }) => localName === "td" || localName === "th")];
    return ["thead", "tbody", "tfoot"].includes(name) ? rowsOf(child, depth + 1) : [];
  });
}

function holdsTable(node: PageNode, depth: number): boolean {
  if (depth > deepest) return true;
  return [...node.childNodes].some((child) => child.localName === "table" || holdsTable(child, depth + 1));
}

function inlinesOf(node: PageNode, writing: Writing): string {
  if (writing.depth > deepest) return textOf(node);
  const inner = { ...writing, depth: writing.depth + 1 };
  let line = "";
  for (const child of node.childNodes) line += isBlock(child) ? ` ${inlinesOf(child, inner)} ` : inlineOf(child, inner);
  return line;
}

function inlineOf(node: PageNode, writing: Writing): string {
  if (node.nodeType === nodeTypes.text)
    return withoutInvisible(node.textContent ?? "").replace(/[ \t\r\n\f\u00a0]+/g, " ");
  const name = node.localName ?? "";
  if (node.nodeType !== nodeTypes.element || skipped.has(name) || isHidden(node)) return "";
  switch (name) {
    case "br":
      return "\n";
    case "img": {
      const alt = oneLine(node.getAttribute?.("alt") ?? "");
      return alt === "" ? "" : `[image: ${alt}]`;
    }
    case "a":
      return linkOf(node, writing);
    case "b":
    case "strong":
      return marked(inlinesOf(node, writing), "**");
    case "em":
    case "i":
      return marked(inlinesOf(node, writing), "*");
    case "code":
    case "kbd":
    case "samp":
      return marked(inlinesOf(node, writing), "`");
    case "sup":
      return marked(inlinesOf(node, writing), "^", "");
    default:
      return inlinesOf(node, writing);
  }
}

function linkOf(node: PageNode, writing: Writing): string {
  const label = inlinesOf(node, writing);
  const address = addressOf(node.getAttribute?.("href"), writing.base);
  const title = oneLine(label).replace(/[[\]]/g, "\\$&");
  if (title === "" || address === undefined || address === withoutFragment(writing.base)) return label;
  writing.room.left -= address.length;
  if (writing.room.left < 0) return label;
  return `${spaceBefore(label)}[${title}](${address.replaceAll("(", "%28").replaceAll(")", "%29")})${spaceAfter(label)}`;
}

function marked(inner: string, before: string, after = before): string {
  const trimmed = inner.trim();
  return trimmed === "" ? inner : `${spaceBefore(inner)}${before}${trimmed}${after}${spaceAfter(inner)}`;
}

function fenced(node: PageNode): string {
  const code = withoutInvisible(textOf(node)).replace(/^\n+|\s+$/g, "");
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return code === "" ? "" : `${fence}\n${code}\n${fence}`;
}

function withoutFragment(address: string): string {
  return address.replace(/#.*$/, "");
}

function prefixed(block: string, first: string, others: string): string {
  return block
    .split("\n")
    .map((line, index) => (index === 0 ? first : line === "" ? others.trimEnd() : others) + line)
    .join("\n");
}

function oneLine(written: string): string {
  return withoutInvisible(written).replace(/\s+/g, " ").trim();
}

function tidy(line: string): string {
  return line
    .split("\n")
    .map((part) => part.replace(/ {2,}/g, " ").trim())
    .join("\n")
    .trim();
}

function spaceBefore(written: string): string {
  return /^\s/.test(written) ? " " : "";
}

function spaceAfter(written: string): string {
  return /\s$/.test(written) ? " " : "";
}
