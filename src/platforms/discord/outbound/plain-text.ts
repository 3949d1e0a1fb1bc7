/** Text that is shown as it is: nothing in it formats, links, mentions or becomes an emoji. */

/** Discord takes the backslash before any of these; a colon keeps `https://` from being a link. */
const special = /[\\`*_~|<>[\]()#+\-:@.!]/g;

/** For message and embed texts. */
export function escapePlain(text: string): string {
  return text.replace(special, "\\$&");
}

/** In a block of code nothing is read but its end; three backticks in a row are kept apart by an invisible character. */
export function withoutFences(text: string): string {
  return text.replace(/`(?=``)/g, "`\u200b");
}

/** `language`: what Discord colours it as. */
export function codeBlock(text: string, language = ""): string {
  return `\`\`\`${language}\n${withoutFences(text)}\n\`\`\``;
}

/** Not within a surrogate pair. */
export function cutAt(text: string, length: number): number {
  if (length >= text.length) return text.length;
  return /[\uDC00-\uDFFF]/.test(text[length] ?? "") ? length - 1 : length;
}

/** At most `limit` characters, with a mark where something is missing. */
export function clip(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, cutAt(text, Math.max(0, limit - 1)))}…`;
}

/** As `clip`, without its beginning: a path's end says more. */
export function clipStart(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const start = text.length - Math.max(0, limit - 1);
  return `…${text.slice(/[\uDC00-\uDFFF]/.test(text[start] ?? "") ? start + 1 : start)}`;
}

/** In one line, and in quotation marks where blanks at its ends would not be seen. */
export function visiblePath(path: string): string {
  const line = oneLine(path);
  return line === line.trim() && line !== "" ? line : `“${line}”`;
}

export function oneLine(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, " ");
}
