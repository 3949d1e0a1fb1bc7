/**
 * Fences mark foreign text in the prompt as data between tags. Such text can't close its fence or open another one.
 * Escapes only a `<` that starts what a model could read as one of our tags, even with other case, spaces, invisible
 * characters or full-width letters, and what a chat template has for the end of a message. llama-server, vLLM and Ollama read such
 * tokens in any text as their own. All other text is unchanged, including code and HTML.
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
  "skill_tools",
  "runtime",
  "earlier",
  "message",
  "attachment",
  "tool_result",
  "earlier_summary",
  "earlier_turn",
  "agent_answer",
] as const;

export type FenceTag = (typeof fenceTags)[number];

const reserved: ReadonlySet<string> = new Set(fenceTags);
const maxTagLength = Math.max(...fenceTags.map((tag) => tag.length));
/** `<`, and the characters that normalize to it. */
const openers = /[<＜﹤]/g;
const isInvisible = /^[\p{Cf}\p{Cc}\p{Cs}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]$/u;
/** A character that ends a tag name. Unlike `\s`, it does not match the byte order mark. */
const isBreak = /^[\t\n\v\f\r\p{Z}]$/u;
const nameCharacter = /^[a-z0-9_-]$/;
const maxAttributeLength = 200;
/** ChatML, Llama 3, Phi, Granite and DeepSeek (`<|im_end|>`, `<｜User｜>`), Gemma, and Mistral (`[/INST]`). */
const templateToken =
  /<(?=[|｜][^\s<>|｜]{1,60}[|｜]>|(?:start|end)_of_turn>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|TOOL_RESULTS|AVAILABLE_TOOLS)\])/g;

export function fence(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>, text: string): string {
  return `${openingTag(tag, attributes)}>\n${escapeFences(text)}\n</${tag}>`;
}

export function emptyFence(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>): string {
  return `${openingTag(tag, attributes)}/>`;
}

/** Escapes everything that could be read as one of our tags, or as a token of a template. Idempotent. */
export function escapeFences(text: string): string {
  return text
    .replace(openers, (opener, offset: number) => (isOwnTag(text, offset + 1) ? "&lt;" : opener))
    .replace(templateToken, (opener) => (opener === "[" ? "&#91;" : "&lt;"));
}

/** Makes text fit an attribute or list entry: one short line, no control characters, quotes and tags escaped. */
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
    .replaceAll(">", "&gt;")
    .replace(templateToken, "&#91;");
}

function openingTag(tag: FenceTag, attributes: Readonly<Record<string, string | undefined>>): string {
  const written = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [` ${name}="${attributeText(value)}"`],
  );
  return `<${tag}${written.join("")}`;
}

/**
 * Checks in one pass whether a lenient reader would take the name after a `<` for one of our tags. `a < tools` counts
 * as a comparison and is not escaped; `< / tools` counts as a closing tag.
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
      // A lenient reader may end the name before a letter that a combining mark turns into another character.
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
