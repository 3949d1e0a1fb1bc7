/**
 * Foreign text in Markdown that people read: it can be anything, and must not become headings, entries or markers.
 *
 * Blocks are quoted line by line, so that nothing of them ever starts a line; short texts become one clean line.
 * `unquoted` gives a block back as it was, but for line ends and NUL characters.
 */

/** Every line behind `> `; a Markdown reader shows it as a quotation. */
export function quoted(text: string): string {
  return text
    .replaceAll("\0", "\uFFFD")
    .split(/\r\n|\n|\r/)
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** The lines of a quotation as they were; other lines stay. */
export function unquoted(text: string): string {
  // Not `^` with the m flag: that one also stops at U+2028, which is no line end in Markdown.
  return text.replace(/(^|\n)> ?/g, "$1");
}

/** Not more than `limit` characters of a long text, and how many are left out. */
export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return `${text.slice(0, end)}\n[… ${(text.length - end).toLocaleString("en")} more characters]`;
}
