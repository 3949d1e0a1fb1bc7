/** Everybody on the page reads every channel. Only a direct conversation needs copies. */
import type { Reach } from "../../ports/reach.ts";
import type { ChatStore } from "./chat-store.ts";
import { formatConversationId, messageLink, parseConversationId } from "./conversation-id.ts";

export function createReach(store: ChatStore): Reach {
  return {
    async people(userIds, conversationId) {
      const conversation = parseConversationId(conversationId);
      const isHere = (id: string) => conversation?.type === "channel" || conversation?.person === id;
      const found = store.people().filter(({ id }) => userIds.includes(id));
      return found.map(({ id, name }) => ({ id, name, isBot: false, isHere: isHere(id) }));
    },
    roleName: async () => undefined,
    direct: async (userId) => formatConversationId({ type: "dm", person: userId }),
    async place(conversationId) {
      const conversation = parseConversationId(conversationId);
      if (conversation?.type !== "channel") return { name: "a direct message with me" };
      const { channel, thread } = conversation;
      return { name: `#${channel}`, ...(thread === null ? {} : { link: messageLink(channel, thread) }) };
    },
  };
}
