/** Shortens text and marks the omission with `…`. Never splits a surrogate pair. */

export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${withoutHalf(text.slice(0, maxLength - 1))}…`;
}

export function shortenStart(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `…${text.slice(1 - maxLength).replace(/^[\udc00-\udfff]/, "")}`;
}

/** Keeps twice as much of the end. */
export function shortenMiddle(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const head = Math.floor(maxLength / 3);
  return `${withoutHalf(text.slice(0, head))}${shortenStart(text.slice(head), maxLength - head)}`;
}

function withoutHalf(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, "");
}
