/**
 * Quotes foreign text in Markdown that people read. It must never become a heading, an entry or a marker.
 *
 * Every line of a block is quoted, so foreign text never starts a line. Short texts become one clean line. `unquoted`
 * returns a block unchanged except for line ends and NUL characters.
 */

/** Puts `> ` before every line. */
export function quoted(text: string): string {
  return text
    .replaceAll("\0", "\uFFFD")
    .split(/\r\n|\n|\r/)
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Removes the quotation marks. Other lines stay. */
export function unquoted(text: string): string {
  // Not `^` with the m flag, which also matches after U+2028; Markdown has no line end there.
  return text.replace(/(^|\n)> ?/g, "$1");
}

/** At most `limit` characters of a long text, and the number of characters left out. */
export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return `${text.slice(0, end)}\n[… ${(text.length - end).toLocaleString("en")} more characters]`;
}
