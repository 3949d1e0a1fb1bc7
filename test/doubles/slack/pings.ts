/** Whom a message notifies when it is posted (people in the conversation, user groups, everybody), and with which words. */
import { effectsOf } from "./markup.ts";
import { firstWords } from "./see.ts";
import type { Notification, SlackState, StoredMessage } from "./state.ts";
import { unescapeText } from "./wire.ts";

/** Somebody who is not in the conversation is not notified: their name is only shown. */
export function pingsOf(state: SlackState, message: StoredMessage): string[] {
  const members = state.channels.get(message.channel)?.members ?? new Set();
  const pings = effectsOf(message).flatMap((effect) => {
    if (effect.type === "user") return members.has(effect.id) ? [effect.id] : [];
    if (effect.type === "group") return state.groups.has(effect.id) ? [effect.id] : [];
    return effect.type === "broadcast" ? [`!${effect.range}`] : [];
  });
  return [...new Set(pings)];
}

/**
 * Desktop clients may go on with later blocks, but there is room for few words, so the first block must do alone.
 * Rule: desktop-notifications-read-blocks-first
 */
export function notificationOf(state: SlackState, { text, blocks }: StoredMessage): Notification {
  const mobile = unescapeText(text);
  return { desktop: firstWords(state, blocks) || mobile, mobile };
}
