/**
 * Fences: foreign text goes to the model as data between tags. No text can close a fence or open another one.
 *
 * Escaping affects only what reads as one of our tags (its `<` becomes `&lt;`), whatever its case, invisible characters,
 * spaces or full-width letters. Everything else stays, code and HTML included.
 */

export const fenceTags = [
  "identity",
  "procedures",
  "tools",
  "memory",
  "memory_note",
  "preferences",
  "skills",
  "skill_body",
  "runtime",
  "message",
  "attachment",
  "tool_result",
] as const;

export type FenceTag = (typeof fenceTags)[number];

const reserved: ReadonlySet<string> = new Set(fenceTags);
const maxTagLength = Math.max(...fenceTags.map((tag) => tag.length));
/** `<`, and the characters that fold to it. */
const openers = /[<＜﹤]/g;
const isInvisible = /^[\p{Cf}\p{Cc}\p{Cs}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]$/u;
/** Ends a name. Unlike `\s`, it does not match the byte order mark. */
const isBreak = /^[\t\n\v\f\r\p{Z}]$/u;
const nameCharacter = /^[a-z0-9_-]$/;
const maxAttributeLength = 200;

export function fence(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>, text: string): string {
  return `${openingTag(tag, attributes)}>\n${escapeFences(text)}\n</${tag}>`;
}

export function emptyFence(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>): string {
  return `${openingTag(tag, attributes)}/>`;
}

/** Escapes whatever reads as one of our tags. Escaping twice changes nothing more. */
export function escapeFences(text: string): string {
  return text.replace(openers, (opener, offset: number) => (isOwnTag(text, offset + 1) ? "&lt;" : opener));
}

/** One line for an attribute or a list: no line breaks or control characters, bounded, with quotes and tags escaped. */
export function attributeText(text: string): string {
  const line = text
    .slice(0, maxAttributeLength * 2)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const short = line.length > maxAttributeLength ? `${line.slice(0, maxAttributeLength - 1)}…` : line;
  return short
    .toWellFormed()
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replace(openers, "&lt;")
    .replaceAll(">", "&gt;");
}

function openingTag(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>): string {
  const written = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [` ${name}="${attributeText(value)}"`],
  );
  return `<${tag}${written.join("")}`;
}

/**
 * Reads the name after a `<` as a lenient reader would. Stops at the next opener, at the end of the name, or when the name
 * is longer than any of ours, so the whole text is read at most once. `a < tools` is a comparison and stays; `< / tools`
 * closes.
 */
function isOwnTag(text: string, start: number): boolean {
  let name = "";
  let isClosing = false;
  let isSpaced = false;
  const isReserved = () => reserved.has(name) && (isClosing || !isSpaced);
  for (let index = start; index < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
    index += character.length;
    for (const part of character.normalize("NFKC").toLowerCase()) {
      // A combining mark may turn the last letter into another one, so that the name ends before it.
      if (nameCharacter.test(part) && isReserved() && /^\p{M}/u.test(text.slice(index, index + 2))) return true;
      if (nameCharacter.test(part)) name += part;
      else if (name === "" && (part === "/" || part === "\\")) isClosing = true;
      else if (name === "" && isBreak.test(part)) isSpaced = true;
      else if (isBreak.test(part) || !isInvisible.test(part)) return isReserved();
    }
    if (name.length > maxTagLength) return false;
  }
  return isReserved();
}
