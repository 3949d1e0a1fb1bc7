/** Shortens text and marks the omission with `…`. Never splits a surrogate pair. */

export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${withoutHalf(text.slice(0, maxLength - 1))}…`;
}

export function shortenStart(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `…${text.slice(1 - maxLength).replace(/^[\udc00-\udfff]/, "")}`;
}

function withoutHalf(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, "");
}
