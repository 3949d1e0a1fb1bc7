/**
 * Makes text safe from Slack's control sequences (`<@U…>`, `<!channel>`, `<!subteam^…>`, `<#C…>`, `<https://…|words>`):
 *
 *   escapeText     for mrkdwn and `text`: `&`, `<` and `>` become entities, as Slack's reference demands
 *   safeMarkdown   for markdown blocks and streams, where Slack also reads its sequences and shows `&lt;` as `<`. In
 *                  code, where entities stay literal, a word joiner (an invisible character) breaks a sequence
 *
 * In Markdown, `&` is not escaped: Slack does not decode twice, and in addresses an entity would break the query.
 */
import { scanLines } from "../../shared/markdown-lines.ts";

export const wordJoiner = "\u2060";

export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Drops half a surrogate pair from the end, because a request can't contain one. */
export function beginningOf(text: string, most: number): string {
  return text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "");
}

export function endOf(text: string, most: number): string {
  return text.slice(Math.max(0, text.length - most)).replace(/^[\uDC00-\uDFFF]/, "");
}

export function unescapeText(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const sequence =
  /<(?=[@#][A-Z0-9]|!(?:here|channel|everyone|group|subteam|date)\b|(?:https?|mailto|tel|slack):[^<>\n]{0,3000}\|)/gi;
/** A bare address, which is kept as a link. */
const address = /^<https?:\/\/[^\s<>|\\]{1,2000}>/;
const maxOpeningLength = 3_000;

export function safeMarkdown(markdown: string): string {
  if (!markdown.includes("<")) return markdown;
  const parts: string[] = [];
  let paragraph = "";
  for (const line of scanLines(markdown, maxOpeningLength)) {
    const text = markdown.slice(line.start, line.end + 1);
    if (line.fence === undefined) {
      paragraph += text;
      continue;
    }
    parts.push(outsideFences(paragraph), brokenUp(text));
    paragraph = "";
  }
  return [...parts, outsideFences(paragraph)].join("");
}

/** A code span ends at the next equally long run of backticks in the same line. */
function outsideFences(text: string): string {
  let result = "";
  for (let at = 0; at < text.length; ) {
    const run = /`+/y;
    run.lastIndex = at;
    const [ticks] = run.exec(text) ?? [];
    const end = ticks === undefined ? -1 : endOfSpan(text, at, ticks);
    if (ticks !== undefined && end > 0) {
      result += brokenUp(text.slice(at, end));
      at = end;
    } else if (ticks !== undefined) {
      result += ticks;
      at += ticks.length;
    } else {
      const next = text.indexOf("`", at);
      const stop = next === -1 ? text.length : next;
      result += escapeOpenings(text.slice(at, stop));
      at = stop;
    }
  }
  return result;
}

function endOfSpan(text: string, start: number, ticks: string): number {
  const lineEnd = text.indexOf("\n", start);
  const line = text.slice(start + ticks.length, lineEnd === -1 ? text.length : lineEnd);
  for (const run of line.matchAll(/`+/g)) {
    if (run[0].length === ticks.length) return start + ticks.length + run.index + ticks.length;
  }
  return -1;
}

function brokenUp(code: string): string {
  return code.replace(sequence, `<${wordJoiner}`);
}

/** If a backslash already escapes the `<`, drops the backslash, because it would escape the ampersand instead. */
function escapeOpenings(text: string): string {
  return text.replace(/(\\*)<[^<]*/g, (part: string, slashes: string) => {
    const rest = part.slice(slashes.length + 1);
    if (slashes.length % 2 === 1) return `${slashes.slice(1)}&lt;${rest}`;
    return address.test(part.slice(slashes.length)) ? part : `${slashes}&lt;${rest}`;
  });
}
