/** Encodes file names (bytes) without loss: control characters, `%` and bytes that are not UTF-8 become `%XX`. */
import { isUtf8 } from "node:buffer";
import { RemoraError } from "../../lib/errors.ts";

/** Relative to the working folder, with parts joined by `/`. */
export type RawPath = string;

const plainName = /^[\x20-\x24\x26-\x7e]*$/;

export function encodeBytes(bytes: Buffer): string {
  const latin = bytes.toString("latin1");
  if (plainName.test(latin)) return latin;
  if (!isUtf8(bytes)) return latin.replace(/[^\x20-\x24\x26-\x7e]/g, (byte) => percent(Buffer.from(byte, "latin1")));
  return bytes.toString("utf8").replace(/[%\p{Cc}]/gu, (character) => percent(Buffer.from(character)));
}

export function decodeBytes(text: string): Buffer {
  if (plainName.test(text)) return Buffer.from(text, "latin1");
  const pieces = text.split(/(%[0-9A-F]{2})/).map((piece) => {
    return /^%[0-9A-F]{2}$/.test(piece) ? Buffer.from(piece.slice(1), "hex") : Buffer.from(piece, "utf8");
  });
  return Buffer.concat(pieces);
}

/** Throws if the path could lead out of the folder. */
export function decodePath(raw: RawPath): Buffer[] {
  return raw.split("/").map((part) => {
    const name = decodeBytes(part);
    if (part === "" || part === "." || part === ".." || name.includes(0) || name.includes(0x2f) || isDots(name)) {
      throw new RemoraError({
        code: "effects.path",
        place: "effects",
        message: `${JSON.stringify(raw)} is not a path inside the folder`,
      });
    }
    return name;
  });
}

export function joinPath(parent: RawPath, name: Buffer): RawPath {
  const encoded = encodeBytes(name);
  return parent === "" ? encoded : `${parent}/${encoded}`;
}

/** Escapes characters that hide, reorder or break text. Different names look different, also if a name looks escaped. */
export function displayPath(raw: RawPath): string {
  const text = raw
    .replace(/<(?=U\+)/g, codePointText)
    .replace(/(?<!\\)\\+(?!\\)(?=[xnt]|%(?!25))/g, "$&$&")
    .replace(/%([0-9A-F]{2})/g, (_, hex: string) => displayByte(Number.parseInt(hex, 16)));
  return text.replace(hiddenCharacters, codePointText).replace(invisibleInNames, codePointText);
}

/** Invisible, direction-changing and control characters. */
const hiddenCharacters = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Matches spaces at the ends of a name, unusual spaces, and characters without a visible shape. */
const invisibleInNames = /(?<=^|\/) | (?=\/|$)|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}|\u2800/gu;

function codePointText(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

function displayByte(byte: number): string {
  if (byte === 0x25) return "%";
  if (byte === 0x0a) return "\\n";
  if (byte === 0x09) return "\\t";
  return `\\x${byte.toString(16).padStart(2, "0")}`;
}

function percent(bytes: Buffer): string {
  return Array.from(bytes, (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

function isDots(name: Buffer): boolean {
  return name.equals(Buffer.from(".")) || name.equals(Buffer.from(".."));
}
