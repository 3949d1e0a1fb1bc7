/** Stores the posts of a turn in the ledger: message ids by keys that the platform chooses. */
import { turnIdOfCopy } from "../../ports/copies.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Posts } from "../../ports/platform.ts";

/** `onKept` runs for every new post before it is stored. After a crash in between, it runs again. */
export function createPosts(
  ledger: Ledger,
  turnId: string,
  onKept: (key: string, messageId: string) => Promise<void>,
): Posts {
  const prefix = `${turnId}:`;
  // The posts of a card's copies are kept as long as those of its turn.
  const group = turnIdOfCopy(turnId);
  return {
    async all() {
      const entries = await ledger.list("post", { group });
      const own = entries.filter(({ id }) => id.startsWith(prefix));
      return own.map(({ id, body }) => ({ key: id.slice(prefix.length), messageId: body.messageId }));
    },
    async keep(key, messageId) {
      await onKept(key, messageId);
      await ledger.create("post", prefix + key, { state: "posted", body: { messageId }, group });
    },
  };
}
