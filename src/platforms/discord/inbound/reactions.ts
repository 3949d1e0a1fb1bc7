/** Reads 👍 and 👎 on messages as ratings of answers. Taking the reaction away takes the rating back. */
import type { GatewayMessageReactionAddDispatchData, GatewayMessageReactionRemoveDispatchData } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Log } from "../../../lib/log.ts";
import type { Author } from "../../../ports/message.ts";
import type { Platform, PlatformHandlers } from "../../../ports/platform.ts";
import { authorOf } from "../api/people.ts";
import { formatConversationId } from "../conversation-id.ts";

export interface ReactionsOptions {
  handlers: Pick<PlatformHandlers, "onFooter">;
  lookUp: NonNullable<Platform["lookUp"]>;
  botId(): string;
  log: Log;
}

type Reaction = GatewayMessageReactionAddDispatchData | GatewayMessageReactionRemoveDispatchData;

export interface Reactions {
  /** Resolves once the rating is kept, or can't be. */
  take(reaction: Reaction, isAdded: boolean): Promise<void> | undefined;
}

/** Skin tones follow the thumb. */
const thumbs = { good: /^👍[🏻🏼🏽🏾🏿]?$/u, bad: /^👎[🏻🏼🏽🏾🏿]?$/u } as const;

export type Thumb = keyof typeof thumbs;

export function thumbOf({ id, name }: { id: string | null; name: string | null }): Thumb | undefined {
  if (id !== null || name === null) return undefined;
  return thumbs.good.test(name) ? "good" : thumbs.bad.test(name) ? "bad" : undefined;
}

export function createReactions({ handlers, lookUp, botId, log }: ReactionsOptions): Reactions {
  /** An added reaction in a server says who the person is. For a removed one, the id is enough to find the rating. */
  async function personOf(reaction: Reaction, isAdded: boolean): Promise<Author | undefined> {
    const { user_id: id, channel_id: channel } = reaction;
    const member = "member" in reaction ? reaction.member : undefined;
    if (member?.user !== undefined) return authorOf(member.user, member);
    const unnamed: Author = { id, name: id, isBot: false, roles: [] };
    return isAdded ? await lookUp(unnamed, formatConversationId({ type: "dm", channel })) : unnamed;
  }

  /** Looking a person up takes time, and a removed reaction must not overtake the added one. */
  const inOrder = createKeyedMutex();

  function take(reaction: Reaction, isAdded: boolean): Promise<void> | undefined {
    const thumb = thumbOf(reaction.emoji);
    if (thumb === undefined || reaction.user_id === botId()) return undefined;
    return inOrder(reaction.user_id, () => rate(reaction, thumb, isAdded)).catch((thrown: unknown) => {
      log.warn({ messageId: reaction.message_id, error: messageOf(thrown) }, "could not keep a rating");
    });
  }

  async function rate(reaction: Reaction, thumb: Thumb, isAdded: boolean): Promise<void> {
    const by = await personOf(reaction, isAdded);
    if (by === undefined || by.isBot) return;
    await handlers.onFooter({
      ...{ platform: "discord", messageId: reaction.message_id, by, at: Date.now() },
      ...(isAdded ? { action: thumb } : { action: "withdraw", withdraws: thumb }),
    });
  }

  return { take };
}
