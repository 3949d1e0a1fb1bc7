/** Cleans foreign text for one line of a prompt: no control, bidi or invisible characters, markup or line breaks. */

/** The joiners U+200C and U+200D are kept between two non-ASCII characters, where scripts and emoji need them. */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for them
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}|(?<=^|[\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?=$|[\u0000-\u007f])/gu;

const markup = /<\/?[a-z!][^<>]*>/gi;

export function hasUnseen(text: string): boolean {
  return text.search(unseen) !== -1;
}

export function hasMarkup(text: string): boolean {
  return text.search(markup) !== -1;
}

export function withoutUnseen(text: string): string {
  return text.replace(unseen, "");
}

export function cleanLine(text: string, limit: number): string {
  const line = withoutUnseen(text).replace(markup, "").replace(/\s+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= limit
    ? line
    : `${characters
        .slice(0, limit - 1)
        .join("")
        .trimEnd()}…`;
}
