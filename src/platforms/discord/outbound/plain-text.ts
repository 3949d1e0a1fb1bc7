/** Escapes text so that it appears literally: nothing in it formats, links, mentions or becomes an emoji. */

/** Characters that a backslash escapes on Discord. An escaped colon keeps `https://` from becoming a link. */
const special = /[\\`*_~|<>[\]()#+\-:@.!]/g;

export function escapePlain(text: string): string {
  return text.replace(special, "\\$&");
}

/** Puts an invisible character between three backticks, which would otherwise end a code block. */
export function withoutFences(text: string): string {
  return text.replace(/`(?=``)/g, "`\u200b");
}

export function codeBlock(text: string, language = ""): string {
  return `\`\`\`${language}\n${withoutFences(text)}\n\`\`\``;
}

/** Returns the index, moved back if it would split a surrogate pair. */
export function cutAt(text: string, length: number): number {
  if (length >= text.length) return text.length;
  return /[\uDC00-\uDFFF]/.test(text[length] ?? "") ? length - 1 : length;
}

export function visiblePath(path: string): string {
  const line = withoutLineBreaks(path);
  return line === line.trim() && line !== "" ? line : `“${line}”`;
}

export function withoutLineBreaks(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, " ");
}
