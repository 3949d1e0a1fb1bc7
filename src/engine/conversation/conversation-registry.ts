/** Registers conversations so that `forget` finds them. Call before storing their data. Stores no message texts. */
import type { ConversationRegistry } from "../../ports/conversation.ts";
import type { Ledger } from "../../ports/ledger.ts";

export function createConversationRegistry(ledger: Ledger): ConversationRegistry {
  return {
    async note({ conversationId, scope, heard, messages, shown = [] }) {
      const others = (heard?.lines ?? []).filter(({ author }) => !author.isBot);
      // Whose words the turn was shown from memory: the history has them now.
      const origins = shown.flatMap(({ pieces }) => pieces.flatMap((piece) => piece.origins));
      const remembered = origins.flatMap(({ personId }) => personId ?? []);
      const userIds = [...new Set([...[...messages, ...others].map(({ author }) => author.id), ...remembered])];
      const known = await ledger.get("conversation", conversationId);
      if (known?.state === "known" && userIds.every((id) => known.body.userIds.includes(id))) return;
      const body = { scope, userIds };
      if (await ledger.create("conversation", conversationId, { state: "known", body, group: scope })) return;
      await ledger.transition("conversation", conversationId, ["known", "ended"], "known", (before) => ({
        ...before,
        userIds: [...new Set([...before.userIds, ...userIds])],
      }));
    },
    async list() {
      const entries = await ledger.list("conversation", {});
      return entries.map(({ id, body }) => ({ id, ...body }));
    },
  };
}
