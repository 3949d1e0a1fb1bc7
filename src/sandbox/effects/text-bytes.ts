/**
 * Turns the bytes of any file into text without loss. A byte that is no UTF-8 becomes a lone surrogate, U+DC80 to U+DCFF,
 * which no text in UTF-8 has; whoever shows the text escapes it as `\x{E9}`. So no byte turns a text into something that
 * can't be shown, and two files never look alike.
 */
import { isUtf8 } from "node:buffer";

/** Well-formed sequences of several bytes, or a byte that belongs to none. */
const beyondAscii = new RegExp(
  String.raw`((?:[\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]|[\xE1-\xEC\xEE\xEF][\x80-\xBF]{2}|\xED[\x80-\x9F][\x80-\xBF]|` +
    String.raw`\xF0[\x90-\xBF][\x80-\xBF]{2}|[\xF1-\xF3][\x80-\xBF]{3}|\xF4[\x80-\x8F][\x80-\xBF]{2})+)|[\x80-\xFF]`,
  "g",
);
/** Control characters that texts do not have. Escape sequences, form feeds and backspaces occur in logs. */
const isControl = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte < 0x20 && ![0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)) || byte === 0x7f ? 1 : 0,
);
/** Machine code, pictures and compressed data have twice as many; text in any encoding has next to none. */
export const maxControlShare = 0.05;
const surrogateBase = 0xdc00;

/** As the program `strings` finds them, but over line breaks: a shell joins lines that end with a backslash. */
const textPart = /[\t-\r\x20-\x7e]{4,}/g;
const minPartCharacters = 4;

export function bytesAsText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  return bytes
    .toString("latin1")
    .replace(beyondAscii, (found, valid: string | undefined) =>
      valid === undefined
        ? String.fromCharCode(surrogateBase + found.charCodeAt(0))
        : Buffer.from(valid, "latin1").toString("utf8"),
    );
}

/** True if most of the bytes are text, in whatever encoding, or if a system would run them as a script. */
export function isText(bytes: Buffer): boolean {
  if (startsScript(bytes) || utf16Of(bytes) !== undefined) return true;
  return countControls(bytes) <= bytes.length * maxControlShare;
}

export function startsScript(bytes: Buffer): boolean {
  return bytes[0] === 0x23 && bytes[1] === 0x21;
}

export function countControls(bytes: Buffer): number {
  let count = 0;
  // For files of gigabytes: ten times faster than an iterator.
  for (let at = 0; at < bytes.length; at++) count += isControl[bytes[at] as number] as number;
  return count;
}

export type Utf16 = "utf16le" | "utf16be";

export interface Utf16Text {
  encoding: Utf16;
  text: string;
  /** A shell reads the bytes, and finds letters in them that the text does not show. */
  hidesLetters: boolean;
}

/** The text of a file in UTF-16, or undefined. */
export function utf16Of(bytes: Buffer): Utf16Text | undefined {
  if (bytes.length < 2 || bytes.length % 2 === 1) return undefined;
  const encoding = utf16Kind(bytes);
  if (encoding === undefined) return undefined;
  const text = (encoding === "utf16le" ? bytes : Buffer.from(bytes).swap16()).toString("utf16le");
  return text.isWellFormed() ? { encoding, text, hidesLetters: hidesLetters.test(text) } : undefined;
}

/** Characters with a high byte that is printable ASCII or white space, such as U+6563, whose bytes are `ec`. */
const hidesLetters = /[\u0900-\u0aff\u0d00-\u0dff\u2000-\u7eff]/;

function utf16Kind(bytes: Buffer): Utf16 | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf16be";
  // Without a byte order mark: text in Latin letters has a NUL in nearly every second place, and next to none elsewhere.
  let [even, odd] = [0, 0];
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) at % 2 === 0 ? even++ : odd++;
  const [most, least] = [Math.max(even, odd), Math.min(even, odd)];
  if (least > Math.max(1, most * 0.1) || most < bytes.length * 0.4) return undefined;
  return odd > even ? "utf16le" : "utf16be";
}

/**
 * What can be read in a binary file: runs of at least four characters. NULs end none, however many there are, because shells
 * skip them. Undefined if there is too much to read.
 */
export function createPartFinder() {
  const parts: string[] = [];
  let characters = 0;
  /** The run at the end of what was added, which may go on. */
  let open = "";
  return {
    add(bytes: Buffer): void {
      if (characters + open.length > maxPartCharacters) return;
      const text = open + bytes.toString("latin1").replaceAll("\0", "");
      let end = text.length;
      while (end > 0 && isPartCharacter(text.charCodeAt(end - 1))) end--;
      for (const [part] of text.slice(0, end).matchAll(textPart)) take(part);
      open = text.slice(end);
    },
    all(): string[] | undefined {
      if (open.length >= minPartCharacters) take(open);
      return characters > maxPartCharacters ? undefined : parts;
    },
  };

  function take(part: string): void {
    if (part.trim() === "") return;
    parts.push(part);
    characters += part.length + 1;
  }
}

const maxPartCharacters = 8 * 1024 * 1024;

function isPartCharacter(code: number): boolean {
  return (code >= 0x20 && code <= 0x7e) || (code >= 0x09 && code <= 0x0d);
}
