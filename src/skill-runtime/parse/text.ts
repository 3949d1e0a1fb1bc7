/** Text of foreign files made fit for one line of a prompt: no control, bidi or invisible characters, no markup, no line breaks. */

/**
 * Control characters but tab and line ends, soft hyphen, zero-width and bidi characters, word joiners, BOM, tag characters, lone surrogates.
 * The joiners U+200C and U+200D stay where a script or an emoji needs them: between two characters that are not ASCII.
 */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are looked for
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}|(?<=^|[\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?=$|[\u0000-\u007f])/gu;

const markup = /<\/?[a-z!][^<>]*>/gi;

/** Whether the text holds what nobody can see, and what `cleanLine` takes out. */
export function hasUnseen(text: string): boolean {
  return text.search(unseen) !== -1;
}

export function hasMarkup(text: string): boolean {
  return text.search(markup) !== -1;
}

/** The text as people see it, line breaks and all. */
export function withoutUnseen(text: string): string {
  return text.replace(unseen, "");
}

/** One line: unseen characters and markup out, every run of white space one space, cut at `limit` characters with an ellipsis. */
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
