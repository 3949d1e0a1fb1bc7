/** Emoji for reactions: the character itself, or a server's custom emoji as `name:id`. */
import { discordError } from "../api/api.ts";

/** Names that models write instead of the characters. */
const characters: Readonly<Record<string, string>> = {
  "+1": "👍",
  thumbsup: "👍",
  "-1": "👎",
  thumbsdown: "👎",
  white_check_mark: "✅",
  heavy_check_mark: "✔️",
  check: "✅",
  x: "❌",
  warning: "⚠️",
  eyes: "👀",
  heart: "❤️",
  tada: "🎉",
  rocket: "🚀",
  fire: "🔥",
  clap: "👏",
  pray: "🙏",
  wave: "👋",
  ok_hand: "👌",
  ok: "🆗",
  thinking: "🤔",
  thinking_face: "🤔",
  smile: "😄",
  joy: "😂",
  cry: "😢",
  question: "❓",
  exclamation: "❗",
  bulb: "💡",
  memo: "📝",
  bug: "🐛",
  lock: "🔒",
  hourglass: "⌛",
  hourglass_flowing_sand: "⏳",
  star: "⭐",
  sparkles: "✨",
  "100": "💯",
  robot: "🤖",
  point_up: "☝️",
  raised_hands: "🙌",
  muscle: "💪",
  calendar: "📅",
};

export function emojiFor(wanted: string): string {
  const text = wanted.trim();
  const custom = /^<a?:(\w{2,32}:\d+)>$/.exec(text)?.[1] ?? /^(\w{2,32}:\d+)$/.exec(text)?.[1];
  if (custom !== undefined) return custom;
  const [, name] = /^:([\w+-]+):$/.exec(text) ?? [];
  const found = name === undefined ? text : characters[name];
  if (found !== undefined && isEmoji(found)) return found;
  throw discordError(
    "platform.unsupported",
    `"${text.slice(0, 40)}" is not an emoji I know. Use the character itself, such as 👍`,
  );
}

function isEmoji(text: string): boolean {
  return (
    text.length <= 16 &&
    !/[\s:]/.test(text) &&
    (/^\p{RGI_Emoji}$/v.test(text) || /^\p{RGI_Emoji}$/v.test(`${text}\ufe0f`))
  );
}
