/** Emoji for reactions: the character itself, or a server's custom emoji as `name:id`. */
import { emojiNames } from "../../shared/emoji-names.ts";
import { discordError } from "../api/api.ts";

const characters = new Map([
  ...Object.entries(emojiNames).map(([character, name]) => [name, character] as const),
  // Names that models write although Slack has others.
  ...([
    ["thumbsup", "👍"],
    ["thumbsdown", "👎"],
    ["check", "✅"],
    ["ok", "🆗"],
    ["thinking", "🤔"],
    ["robot", "🤖"],
    ["calendar", "📅"],
    ["point_up", "☝"],
  ] as const),
]);

export function emojiFor(wanted: string): string {
  const text = wanted.trim();
  const custom = /^<a?:(\w{2,32}:\d+)>$/.exec(text)?.[1] ?? /^(\w{2,32}:\d+)$/.exec(text)?.[1];
  if (custom !== undefined) return custom;
  const [, name] = /^:([\w+-]+):$/.exec(text) ?? [];
  const found = name === undefined ? text : characters.get(name);
  if (found !== undefined && isEmoji(found)) return name === undefined ? found : shownAsEmoji(found);
  throw discordError(
    "platform.unsupported",
    `"${text.slice(0, 40)}" is not an emoji I know. Use the character itself, such as 👍`,
  );
}

function isEmoji(text: string): boolean {
  return text.length <= 16 && !/[\s:]/.test(text) && emojiPattern.test(shownAsEmoji(text));
}

const emojiPattern = /^\p{RGI_Emoji}$/v;

/** Some characters are emoji only with a presentation selector. */
function shownAsEmoji(character: string): string {
  return emojiPattern.test(character) ? character : `${character}\ufe0f`;
}
