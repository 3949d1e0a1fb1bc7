/** Colours words of results on a terminal. Elsewhere, and with NO_COLOR, the text stays as it is. */
import { styleText } from "node:util";

type Colour = "green" | "yellow" | "red" | "dim";

const colours: Record<string, Colour> = {
  ...{ safe: "green", accept: "green", ok: "green", on: "green" },
  ...{ confirm: "yellow", warn: "yellow", note: "yellow", warning: "yellow" },
  ...{ block: "red", skip: "red", error: "red", failed: "red", off: "dim" },
};

/** `word` decides the colour; `text` is what is printed, by default the word. */
export function coloured(word: string, text = word): string {
  const colour = colours[word];
  return colour === undefined ? text : styleText(colour, text, { stream: process.stdout });
}
