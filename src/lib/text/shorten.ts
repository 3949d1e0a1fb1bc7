/** Cuts of long texts, with `…` for what is missing. No cut splits a surrogate pair. */

/** At most `maxLength` UTF-16 units, `…` included; keeps the beginning. */
export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${withoutHalf(text.slice(0, maxLength - 1))}…`;
}

/** At most `maxLength` UTF-16 units, `…` included; keeps the end. */
export function shortenStart(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `…${text.slice(1 - maxLength).replace(/^[\udc00-\udfff]/, "")}`;
}

function withoutHalf(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, "");
}
