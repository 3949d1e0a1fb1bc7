/**
 * The newest messages that this process has received, for apps whose access to history Slack limits. Kept only in
 * memory, and without the text of deleted messages.
 */
import type { MessageEvent, RawMessage } from "./events.ts";

export interface RecentMessages {
  add(message: MessageEvent): void;
  /** Has no effect on a message that is not remembered. */
  change(channel: string, message: RawMessage): void;
  remove(channel: string, ts: string): void;
  /** The messages of the thread or, if it is null, of the channel outside threads, oldest first. */
  in(channel: string, thread: string | null): MessageEvent[];
}

const maxMessages = 2_000;
const maxTextLength = 4_000;

export function createRecentMessages(): RecentMessages {
  /** By channel and ts; the oldest entry first. */
  const messages = new Map<string, MessageEvent>();
  const keyOf = (channel: string, ts: string) => `${channel}:${ts}`;

  return {
    add(message) {
      messages.set(keyOf(message.channel, message.ts), { ...message, text: message.text?.slice(0, maxTextLength) });
      const [oldest] = messages.keys();
      if (messages.size > maxMessages && oldest !== undefined) messages.delete(oldest);
    },
    change(channel, { ts, text }) {
      const known = messages.get(keyOf(channel, ts));
      if (known !== undefined) messages.set(keyOf(channel, ts), { ...known, text: text?.slice(0, maxTextLength) });
    },
    remove: (channel, ts) => void messages.delete(keyOf(channel, ts)),
    in(channel, thread) {
      const isIn = (event: MessageEvent) => {
        const { ts, thread_ts: parent = ts } = event;
        if (event.channel !== channel) return false;
        return thread === null ? parent === ts : parent === thread;
      };
      return [...messages.values()].filter(isIn).sort((one, other) => Number(one.ts) - Number(other.ts));
    },
  };
}
