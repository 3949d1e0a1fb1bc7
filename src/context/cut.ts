/** Shortens text to a token limit. Keeps the start and the end, with a note between them about how much is missing. */
import { formatNumber } from "../lib/text/format-number.ts";
import { estimateTokens, maxTokensPerCharacter } from "./tokens.ts";

const noteTokens = 40;

/** Shortens text to `limit` tokens (estimated), or to the note alone. `hint` says how to get the missing text. */
export function cutToTokens(text: string, limit: number, hint = ""): string {
  // Most texts are far below their limit, and need no estimate.
  if (text.length * maxTokensPerCharacter <= limit) return text;
  const tokens = estimateTokens(text);
  if (tokens <= limit) return text;
  let characters = Math.floor((text.length * Math.max(0, limit - noteTokens)) / tokens);
  let cut = cutToCharacters(text, characters, hint);
  while (characters > 0 && estimateTokens(cut) > limit) {
    characters = Math.floor(characters * 0.8);
    cut = cutToCharacters(text, characters, hint);
  }
  return cut;
}

/** Like `cutToTokens`, but the limit is in characters and does not count the note. */
export function cutToCharacters(text: string, characters: number, hint = ""): string {
  if (text.length <= characters) return text;
  const head = Math.ceil(characters * 0.7);
  const tail = characters - head;
  const missing = formatNumber(text.length - characters);
  const note = `[… ${missing} characters left out${hint === "" ? "" : `; ${hint}`} …]`;
  const parts = [text.slice(0, head), note, tail === 0 ? "" : text.slice(-tail)];
  return parts
    .filter((part) => part !== "")
    .join("\n")
    .toWellFormed();
}
