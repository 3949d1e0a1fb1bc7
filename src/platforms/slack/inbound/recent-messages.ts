/**
 * The newest messages that this process has received, for apps whose access to history Slack limits. Kept only in
 * memory, and without the text of deleted messages.
 */
import { textLengthIn } from "../../../lib/json.ts";
import type { MessageEvent, RawMessage } from "./events.ts";
import { recordIn } from "./raw-values.ts";
import { shownMarkup } from "./shown-markup.ts";

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
const maxKeptLength = 16_000;
const maxFiles = 20;

export function createRecentMessages(): RecentMessages {
  /** By channel and ts; the oldest entry first. */
  const messages = new Map<string, MessageEvent>();
  const keyOf = (channel: string, ts: string) => `${channel}:${ts}`;

  return {
    add(message) {
      messages.set(keyOf(message.channel, message.ts), { ...message, ...kept(message) });
      const [oldest] = messages.keys();
      if (messages.size > maxMessages && oldest !== undefined) messages.delete(oldest);
    },
    change(channel, message) {
      const known = messages.get(keyOf(channel, message.ts));
      if (known !== undefined) messages.set(keyOf(channel, message.ts), { ...known, ...kept(message) });
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

/** Of a message with more than that, only what can be read in it. */
function kept(message: RawMessage): Pick<RawMessage, "text" | "blocks" | "attachments" | "files"> {
  const { text, blocks, attachments, files } = message;
  if (isSmall([text, blocks, attachments, files])) return { text, blocks, attachments, files };
  const { own, quotes, files: all } = shownMarkup(message);
  const words = [own, ...quotes.map(({ markup }) => markup)].join("\n\n");
  return {
    ...{ text: words.slice(0, maxTextLength), blocks: undefined, attachments: undefined },
    files: all.slice(0, maxFiles).map((file) => ({ id: recordIn(file).id, name: recordIn(file).name })),
  };
}

/** Values that are nested too deeply to be measured are not small. */
function isSmall(values: unknown): boolean {
  try {
    return textLengthIn(values) <= maxKeptLength;
  } catch {
    return false;
  }
}
