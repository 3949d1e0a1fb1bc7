/**
 * Messages that were queued before this process started. Nobody told it if they were edited or deleted in the meantime, so
 * they are read again right before their turn begins.
 */
import { pause } from "../../lib/backoff.ts";
import { type InboundMessage, messageKey } from "../../ports/message.ts";

/** A service that does not answer holds no turn up for longer. */
const maxLookMs = 10_000;

/** `look` reads one message again. */
export function createLeftMessages(look: (message: InboundMessage) => Promise<void>) {
  const left = new Set<string>();
  const keyOf = ({ platform, id }: InboundMessage) => messageKey(platform, id);

  return {
    note(messages: readonly InboundMessage[]): void {
      for (const message of messages) left.add(keyOf(message));
    },
    /** Reads each of them once. Resolves to false if none of these messages was left. */
    async lookAgain(messages: readonly InboundMessage[]): Promise<boolean> {
      const found = messages.filter((message) => left.delete(keyOf(message)));
      if (found.length === 0) return false;
      const over = new AbortController();
      await Promise.race([Promise.all(found.map(look)), pause(maxLookMs, over.signal)]);
      over.abort();
      return true;
    },
  };
}
