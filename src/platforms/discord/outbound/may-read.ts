/** Checks whether a person can read a conversation of a server now. DMs belong to their person; see the caller. */
import { Routes } from "discord.js";
import type { Platform } from "../../../ports/platform.ts";
import { type DiscordApi, isRefusal } from "../api/api.ts";
import { parseConversationId } from "../conversation-id.ts";
import type { ChatAccess } from "./chat-access.ts";

export function createMayRead(api: DiscordApi, access: Pick<ChatAccess, "mayRead">): NonNullable<Platform["mayRead"]> {
  async function exists(route: `/${string}`): Promise<boolean> {
    try {
      await api.request({ method: "GET", route });
      return true;
    } catch (thrown) {
      if (isRefusal(thrown, "unknownMessage", "unknownChannel", "missingAccess", "missingPermissions")) return false;
      throw thrown;
    }
  }

  return async (conversationId, person) => {
    const conversation = parseConversationId(conversationId);
    if (conversation?.type !== "guild") return false;
    const { channel, thread } = conversation;
    if (thread === null) return await access.mayRead(channel, person);
    if (await exists(Routes.channel(thread))) return await access.mayRead(thread, person);
    // The thread was never opened, so the answer is in the channel. Only a public thread has the id of a message.
    return (await exists(Routes.channelMessage(channel, thread))) && (await access.mayRead(channel, person));
  };
}
