/** Whom a message notifies when it is posted: people in the conversation, user groups, everybody. */
import { effectsOf } from "./markup.ts";
import type { SlackState, StoredMessage } from "./state.ts";

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
