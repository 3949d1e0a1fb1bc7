/**
 * Looks again at the messages that no turn has answered yet: a new session does not tell what was edited or deleted before it.
 * In doubt, a message stays as it is.
 */
import { type APIMessage, Routes } from "discord.js";
import type { Log } from "../../../lib/log.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import { lookAgain } from "../../shared/look-again.ts";
import { type DiscordApi, isRefusal } from "../api/api.ts";
import { isSnowflake, parseConversationId } from "../conversation-id.ts";
import { shardOf } from "./cursors.ts";
import type { Inbound } from "./inbound.ts";
import { asMessage } from "./raw-message.ts";

export interface MissedChangesOptions {
  api: DiscordApi;
  handlers: Pick<PlatformHandlers, "unanswered">;
  inbound: Pick<Inbound, "edited" | "deleted">;
  log: Log;
  signal: AbortSignal;
}

export function createMissedChanges({ api, handlers, inbound, log, signal }: MissedChangesOptions) {
  async function look(
    { id, conversationId }: InboundMessage,
    isOfShard: (guild?: string) => boolean,
    isBackground: boolean,
  ): Promise<void> {
    const conversation = parseConversationId(conversationId);
    if (conversation === undefined || !isSnowflake(id)) return;
    const { guild, thread } = conversation.type === "guild" ? conversation : { guild: undefined, thread: null };
    if (!isOfShard(guild)) return;
    // A thread's first message is in its channel.
    const place = thread === null || thread === id ? conversation.channel : thread;
    try {
      const route = Routes.channelMessage(place, id);
      const asked = api.request<APIMessage>({ method: "GET", route, retry: "lasting", isBackground, signal });
      const raw = asMessage(await asked, { channelId: place, guildId: guild });
      if (raw?.edited_timestamp) await inbound.edited({ ...raw });
    } catch (thrown) {
      if (!isRefusal(thrown, "unknownMessage")) throw thrown;
      await inbound.deleted(place, [id]);
    }
  }

  return {
    /** Never rejects. */
    ofShard(shard: number, count: number): Promise<void> {
      const isOfShard = (guild?: string) => shardOf(guild, count) === shard;
      return lookAgain(handlers.unanswered("discord"), (message) => look(message, isOfShard, true), log);
    },
    /** Never rejects. */
    ofMessage: (message: InboundMessage): Promise<void> =>
      lookAgain(Promise.resolve([message]), (each) => look(each, () => true, false), log),
  };
}
