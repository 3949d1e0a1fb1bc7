/** Converts standard Markdown to mrkdwn, Slack's own markup, for places without markdown blocks. Escapes the text. */
import { Lexer, type Token, type Tokens } from "marked";
import { escapeText, wordJoiner } from "./safe-text.ts";

/** Separates a formatting character from a letter next to it, because mrkdwn would otherwise ignore the character. */
const zeroWidthSpace = "\u200B";

/** Nobody reads deeper quotes and lists, and reading them would use up the stack. */
const tooDeep = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){50}/m;

export function toMrkdwn(markdown: string): string {
  if (tooDeep.test(markdown)) return escapeText(markdown).trim();
  return blocksText(new Lexer({ gfm: true }).lex(markdown)).trim();
}

function blocksText(tokens: Token[]): string {
  return tokens
    .map(blockText)
    .filter((text) => text !== "")
    .join("\n\n");
}

function blockText(token: Token): string {
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "heading":
      return marked("*", inlineText((token as Tokens.Heading).tokens, true));
    case "paragraph":
      return inlineText((token as Tokens.Paragraph).tokens);
    case "code":
      return codeBlock((token as Tokens.Code).text);
    case "blockquote":
      return blocksText((token as Tokens.Blockquote).tokens).replace(/^/gm, "> ");
    case "list":
      return listText(token as Tokens.List);
    case "table":
      return codeBlock(tableText(token as Tokens.Table));
    case "hr":
      return "──────────";
    case "text":
      return inlineText((token as Tokens.Text).tokens ?? [token]);
    default:
      return literal(token.raw.trim());
  }
}

function codeBlock(code: string): string {
  // Three backticks would otherwise end the block.
  const whole = escapeText(code).replaceAll("```", `\`\`${wordJoiner}\``);
  return `\`\`\`\n${whole}\n\`\`\``;
}

function listText({ items, ordered, start }: Tokens.List): string {
  const first = typeof start === "number" ? start : 1;
  return items
    .map((item, index) => {
      const task = item.task ? (item.checked ? "☑ " : "☐ ") : "";
      const mark = `${ordered ? `${first + index}.` : "•"} ${task}`;
      const tokens = item.tokens.filter((token) => token.type !== "checkbox");
      return mark + itemText(tokens).replace(/\n(?!$)/g, "\n    ");
    })
    .join("\n");
}

function itemText(tokens: Token[]): string {
  return tokens
    .map(blockText)
    .filter((text) => text !== "")
    .join("\n");
}

function tableText({ header, rows }: Tokens.Table): string {
  const lines = [header, ...rows].map((cells) => cells.map((cell) => plainText(cell.tokens).replace(/\s+/g, " ")));
  const widths = header.map((_, column) => Math.min(40, Math.max(...lines.map((line) => line[column]?.length ?? 0))));
  const drawn = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(" | ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "-".repeat(Math.max(1, width))).join("-|-");
  return [drawn[0] ?? "", rule, ...drawn.slice(1)].join("\n");
}

function inlineText(tokens: Token[], isBold = false): string {
  let text = "";
  for (const token of tokens) {
    const part = inlinePart(token, isBold);
    const isMark = /^[*_~`]/.test(part) && token.type !== "text";
    const needsSpace = (isMark && /[\p{L}\p{N}]$/u.test(text)) || (endsInMark(text) && /^[\p{L}\p{N}]/u.test(part));
    text += (needsSpace ? zeroWidthSpace : "") + part;
  }
  return text;
}

function endsInMark(text: string): boolean {
  return /[*_~`]$/.test(text);
}

function inlinePart(token: Token, isBold: boolean): string {
  switch (token.type) {
    case "strong":
      return isBold ? inlineText(childrenOf(token), true) : marked("*", inlineText(childrenOf(token), true));
    case "em":
      return marked("_", inlineText(childrenOf(token), isBold));
    case "del":
      return marked("~", inlineText(childrenOf(token), isBold));
    case "codespan":
      return codeSpan((token as Tokens.Codespan).text);
    case "br":
      return "\n";
    case "link":
      return linkText((token as Tokens.Link).href, plainText(childrenOf(token)));
    case "image":
      return linkText((token as Tokens.Image).href, (token as Tokens.Image).text);
    case "text":
      return "tokens" in token && token.tokens !== undefined
        ? inlineText(token.tokens, isBold)
        : literal((token as Tokens.Text).text);
    case "escape":
      return literal((token as Tokens.Escape).text);
    default:
      return literal(token.raw);
  }
}

function childrenOf(token: Token): Token[] {
  return "tokens" in token ? (token.tokens ?? []) : [];
}

/** Formats each line separately, because formatting does not span lines. */
function marked(mark: string, text: string): string {
  return text
    .split("\n")
    .map((line) => (line.trim() === "" ? line : `${mark}${line.trim()}${mark}`))
    .join("\n");
}

/** Code with a backtick becomes plain text, because mrkdwn has no syntax for it. */
function codeSpan(code: string): string {
  if (code.trim() === "" || code.includes("`")) return literal(code);
  return `\`${escapeText(code.replace(/\s+/g, " "))}\``;
}

function linkText(href: string, label: string): string {
  const shown = label.trim() === "" ? href : label.trim();
  if (!/^(?:https?|mailto|tel):/i.test(href)) return literal(shown === href ? href : `${shown} (${href})`);
  const url = escapeText(href).replaceAll("|", "%7C").replace(/\s/g, "%20");
  if (shown === href || `mailto:${shown}` === href) return `<${url}>`;
  // A bar ends a label, so put the address after a text that contains one.
  return shown.includes("|") ? `${literal(shown)} <${url}>` : `<${url}|${escapeText(shown.replace(/\s+/g, " "))}>`;
}

function plainText(tokens: Token[]): string {
  return tokens
    .map((token) => {
      const children = childrenOf(token);
      if (children.length > 0) return plainText(children);
      if (token.type === "br") return "\n";
      return "text" in token && typeof token.text === "string" ? decoded(token.text) : token.raw;
    })
    .join("");
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos|nbsp|#39);/g, (_whole, name: string) => entities[name] ?? "'");
}

/** Stops literal characters from formatting in mrkdwn, with a word joiner (an invisible character). */
function literal(text: string): string {
  return escapeText(decoded(text)).replace(/(^|[^\p{L}\p{N}])([*_~`])(?=\S)/gu, `$1$2${wordJoiner}`);
}
