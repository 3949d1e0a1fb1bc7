/**
 * The newest messages that this process has received, for apps whose access to history Slack limits. Kept only in
 * memory, and without the text of deleted messages.
 */
import { changedSchema, deletedSchema, isSaid, type MessageEvent } from "./events.ts";
import type { Inbound } from "./inbound.ts";

export interface RecentMessages {
  /** Wraps the inbound and remembers its messages. */
  watch(inbound: Inbound): Inbound;
  /** The messages of the thread or, if it is null, of the channel outside threads, oldest first. */
  in(channel: string, thread: string | null): MessageEvent[];
}

const maxMessages = 2_000;
const maxTextLength = 4_000;

export function createRecentMessages(): RecentMessages {
  /** By channel and ts; the oldest entry first. */
  const messages = new Map<string, MessageEvent>();
  const keyOf = ({ channel, ts }: { channel: string; ts: string }) => `${channel}:${ts}`;

  function add(event: MessageEvent): void {
    if (!isSaid(event)) return;
    messages.set(keyOf(event), { ...event, text: event.text?.slice(0, maxTextLength) });
    const [oldest] = messages.keys();
    if (messages.size > maxMessages && oldest !== undefined) messages.delete(oldest);
  }

  return {
    watch: (inbound) => ({
      async message(event) {
        add(event);
        await inbound.message(event);
      },
      async changed(event) {
        const { data } = changedSchema.safeParse(event);
        if (data !== undefined) {
          const key = keyOf({ channel: data.channel, ts: data.message.ts });
          const known = messages.get(key);
          if (data.message.subtype === "tombstone") messages.delete(key);
          else if (known !== undefined)
            messages.set(key, { ...known, text: data.message.text?.slice(0, maxTextLength) });
        }
        await inbound.changed(event);
      },
      async deleted(event) {
        const { data } = deletedSchema.safeParse(event);
        if (data !== undefined) messages.delete(keyOf({ channel: data.channel, ts: data.deleted_ts }));
        await inbound.deleted(event);
      },
    }),
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
