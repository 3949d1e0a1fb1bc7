/** Measures the text of a chart, and shortens or wraps it to fit. */
import type { Font } from "./font.ts";

export type Weight = "regular" | "bold";

export interface Typesetter {
  width(text: string, size: number, weight?: Weight): number;
  shortened(text: string, size: number, room: number, weight?: Weight): string;
  /** Returns at most `lines` lines. The last one ends in an ellipsis if the text does not fit. */
  wrap(text: string, size: number, room: number, lines: number, weight?: Weight): string[];
  missing(): string[];
}

export interface Fonts {
  regular: Font;
  bold: Font;
  /** Fallback fonts, in order. */
  others: Font[];
}

/** Kerning is ignored, so a text may be a little wider than measured. */
const reserve = 1.01;
const fallbackWidth = 1;

export function createTypesetter({ regular, bold, others }: Fonts): Typesetter {
  const missing = new Set<string>();

  const widthOf = (character: string, font: Font): number => {
    const codePoint = character.codePointAt(0) ?? 0;
    const width =
      font.widthOf(codePoint) ?? others.map((other) => other.widthOf(codePoint)).find((found) => found !== undefined);
    if (width === undefined && /[^\s\p{M}\p{Cf}\p{Cc}]/u.test(character)) missing.add(character);
    return width ?? (/[\p{M}\p{Cf}\p{Cc}]/u.test(character) ? 0 : fallbackWidth);
  };
  const width = (text: string, size: number, weight: Weight = "regular") => {
    const font = weight === "bold" ? bold : regular;
    let sum = 0;
    for (const character of text) sum += widthOf(character, font);
    return sum * size * reserve;
  };
  const shortened = (text: string, size: number, room: number, weight: Weight = "regular") => {
    if (width(text, size, weight) <= room) return text;
    const characters = [...text];
    let [low, high] = [0, characters.length];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (width(`${characters.slice(0, middle).join("")}…`, size, weight) <= room) low = middle;
      else high = middle - 1;
    }
    return `${characters.slice(0, low).join("").trimEnd()}…`;
  };

  return {
    width,
    shortened,
    wrap(text, size, room, most, weight = "regular") {
      const lines: string[] = [];
      const words = text.split(/\s+/).filter((word) => word !== "");
      while (words.length > 0 && lines.length < most) {
        const isLast = lines.length === most - 1;
        let line = words.shift() ?? "";
        while (words.length > 0 && (isLast || width(`${line} ${words[0]}`, size, weight) <= room))
          line += ` ${words.shift()}`;
        lines.push(shortened(line, size, room, weight));
      }
      return lines;
    },
    missing: () => [...missing],
  };
}

export function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/\s+/g, " ")
    .replace(/[\p{Cc}\ufffe\uffff]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
