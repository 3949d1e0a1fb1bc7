/** Stores the posts of a turn in the ledger: message ids by keys that the platform chooses. */
import type { Ledger } from "../../ports/ledger.ts";
import type { Posts } from "../../ports/platform.ts";

/** `onKept` runs for every new post before the platform continues. */
export function createPosts(
  ledger: Ledger,
  turnId: string,
  onKept: (key: string, messageId: string) => Promise<void>,
): Posts {
  const prefix = `${turnId}:`;
  return {
    async all() {
      const entries = await ledger.list("post", { group: turnId });
      return entries.map(({ id, body }) => ({ key: id.slice(prefix.length), messageId: body.messageId }));
    },
    async keep(key, messageId) {
      await ledger.create("post", prefix + key, { state: "posted", body: { messageId }, group: turnId });
      await onKept(key, messageId);
    },
  };
}
