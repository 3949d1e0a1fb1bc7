/** Emoji for reactions, by the names that Slack needs. */
import { emojiNames } from "../../shared/emoji-names.ts";

export function emojiName(emoji: string): string | undefined {
  const [, name] = /^:?([a-z0-9_+'-]+(?:::skin-tone-[2-6])?):?$/i.exec(emoji.trim()) ?? [];
  if (name !== undefined) return name.toLowerCase();
  // Presentation selectors and skin tones are not part of the name.
  return emojiNames[emoji.trim().replace(/[\uFE0F\u{1F3FB}-\u{1F3FF}]/gu, "")];
}
