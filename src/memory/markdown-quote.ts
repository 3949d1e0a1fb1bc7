/** Quotes foreign text in Markdown that people read so that it never becomes a heading, an entry or a marker. */
import { formatNumber } from "../lib/text/format-number.ts";

export function quoted(text: string): string {
  return text
    .replaceAll("\0", "\uFFFD")
    .split(/\r\n|\n|\r/)
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Undoes `quoted` except for line ends and NUL characters. Lines without `>` are unchanged. */
export function unquoted(text: string): string {
  // Does not use `^` with the m flag, because that matches after U+2028, which is no line end in Markdown.
  return text.replace(/(^|\n)> ?/g, "$1");
}

export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return `${text.slice(0, end)}\n[… ${formatNumber(text.length - end)} more characters]`;
}
