/**
 * Fences: foreign text goes to the model as data between tags, and no text can close a fence or open another one.
 *
 * Only what would read as one of our own tags is escaped (its `<` becomes `&lt;`), in any case, with invisible
 * characters, spaces or full-width letters in it; all other text, code and HTML too, stays as it is.
 */

/** Every tag that the prompt is made of. Names that other people's XML rarely uses. */
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
const longestTag = Math.max(...fenceTags.map((tag) => tag.length));
/** `<`, and the characters that compatibility folding makes it. */
const openers = /[<＜﹤]/g;
const isInvisible = /^[\p{Cf}\p{Cc}\p{Cs}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]$/u;
/** Ends a name; the byte order mark, which `\s` would take, does not. */
const isBreak = /^[\t\n\v\f\r\p{Z}]$/u;
const nameCharacter = /^[a-z0-9_-]$/;
const longestAttribute = 200;

/** The text between tags on their own lines, escaped. Attributes without a value are left out. */
export function fence(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>, text: string): string {
  return `${openingTag(tag, attributes)}>\n${escapeFences(text)}\n</${tag}>`;
}

/** For something that has no text to show. */
export function emptyFence(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>): string {
  return `${openingTag(tag, attributes)}/>`;
}

/** Escapes whatever reads as a tag of ours; escaping twice changes nothing more. */
export function escapeFences(text: string): string {
  return text.replace(openers, (opener, offset: number) => (isOwnTag(text, offset + 1) ? "&lt;" : opener));
}

/** One line for an attribute or a list: no line breaks or control characters, bounded, quotes and tags escaped. */
export function attributeText(text: string): string {
  const line = text
    .slice(0, longestAttribute * 2)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const short = line.length > longestAttribute ? `${line.slice(0, longestAttribute - 1)}…` : line;
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
 * Reads the name that follows a `<` as a forgiving reader would. It stops at the next opener, at the name's end, or when
 * the name is longer than any of ours, so that the whole text is read at most once over all openers.
 * `a < tools` compares and is left alone; `< / tools` closes.
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
      // A letter that a mark behind it makes another one may end the name before it.
      if (nameCharacter.test(part) && isReserved() && /^\p{M}/u.test(text.slice(index, index + 2))) return true;
      if (nameCharacter.test(part)) name += part;
      else if (name === "" && (part === "/" || part === "\\")) isClosing = true;
      else if (name === "" && isBreak.test(part)) isSpaced = true;
      else if (isBreak.test(part) || !isInvisible.test(part)) return isReserved();
    }
    if (name.length > longestTag) return false;
  }
  return isReserved();
}
