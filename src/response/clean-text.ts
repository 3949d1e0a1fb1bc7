/** Removes control characters (except newlines and tabs) and unpaired surrogates. A pair may span two pieces. */

export interface TextCleaner {
  add(piece: string): boolean;
  text(): string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for them
const unwanted = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/gu;

export function createTextCleaner(): TextCleaner {
  let text = "";
  /** The first half of a surrogate pair, whose second half may come with the next piece. */
  let half = "";
  return {
    add(piece) {
      const whole = half + piece;
      half = /[\ud800-\udbff]$/.test(whole) ? whole.slice(-1) : "";
      const clean = (half === "" ? whole : whole.slice(0, -1)).replace(unwanted, "");
      text += clean;
      return clean !== "";
    },
    text: () => text,
  };
}
