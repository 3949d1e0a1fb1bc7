/** What people see between their message and the first words of the answer: a reaction where that is wanted, and typing. */
import { Routes } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { DiscordApi } from "../api/api.ts";
import { emojiFor } from "./emoji.ts";
import { createTyping, type Typing } from "./typing.ts";

export interface Acknowledgements {
  /** The message is kept and will be answered. `isPlace`: its conversation is that channel, thread or DM itself. */
  give(channelId: string, messageId: string, isPlace: boolean): void;
  /** Its answer has begun. */
  end(messageId: string): void;
  /** Something of the bot's stands in a channel, perhaps written by another process; `replyTo`: the message that it answers. */
  seen(channelId: string, replyTo: string | undefined): void;
  close(): void;
}

/** A turn that waits for another one for so long is not being worked on. */
const longestMs = 60_000;

/** `reaction`: null for none. */
export function createAcknowledgements(api: DiscordApi, reaction: string | null, log: Log): Acknowledgements {
  const typings = new Map<string, Typing>();
  const places = new Map<string, string>();
  const emoji = reaction === null ? undefined : emojiFor(reaction);

  function react(channelId: string, messageId: string, sign: string): void {
    const route = Routes.channelMessageOwnReaction(channelId, messageId, encodeURIComponent(sign));
    api
      .request({ method: "PUT", route })
      .catch((thrown: unknown) =>
        log.debug({ messageId, error: messageOf(thrown) }, "could not add the acknowledgement reaction"),
      );
  }

  function end(messageId: string): void {
    typings.get(messageId)?.stop();
    typings.delete(messageId);
    places.delete(messageId);
  }

  return {
    give(channelId, messageId, isPlace) {
      const typing = createTyping(api, () => channelId, { longestMs, onEnd: () => end(messageId) });
      typings.set(messageId, typing);
      // A thread is called as the message that it comes of.
      places.set(messageId, isPlace ? channelId : messageId);
      typing.keep();
      if (emoji !== undefined) react(channelId, messageId, emoji);
    },
    end,
    seen(channelId, replyTo) {
      for (const [messageId, place] of places) if (place === channelId || messageId === replyTo) end(messageId);
    },
    close() {
      for (const messageId of [...typings.keys()]) end(messageId);
    },
  };
}
