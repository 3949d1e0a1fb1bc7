/** Shows that a message will be answered, with an optional reaction and typing, until the answer starts. */
import { Routes } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { DiscordApi } from "../api/api.ts";
import { emojiFor } from "./emoji.ts";
import { createTyping, type Typing, type TypingIndicators } from "./typing.ts";

export interface Acknowledgements {
  /** `isPlace` is true if `channelId` is itself the message's conversation. */
  give(channelId: string, messageId: string, isPlace: boolean): void;
  end(messageId: string): void;
  /** Call this if a message of the bot appears, perhaps from another process. `replyTo` is the message it answers. */
  seen(channelId: string, replyTo: string | undefined): void;
  close(): void;
}

/** A turn that is silent for this long is probably waiting for another turn, so typing would mislead. */
const maxTypingMs = 60_000;

export interface AcknowledgementsOptions {
  api: DiscordApi;
  indicators: TypingIndicators;
  reaction: string | null;
  log: Log;
}

export function createAcknowledgements({ api, indicators, reaction, log }: AcknowledgementsOptions): Acknowledgements {
  /** By message. A thread has the id of its first message. */
  const given = new Map<string, { typing: Typing; place: string }>();
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
    given.get(messageId)?.typing.stop();
    given.delete(messageId);
  }

  return {
    give(channelId, messageId, isPlace) {
      const typing = createTyping(indicators, () => channelId, { maxTypingMs, onEnd: () => end(messageId) });
      given.set(messageId, { typing, place: isPlace ? channelId : messageId });
      typing.keep();
      if (emoji !== undefined) react(channelId, messageId, emoji);
    },
    end,
    seen(channelId, replyTo) {
      for (const [messageId, { place }] of given) if (place === channelId || messageId === replyTo) end(messageId);
    },
    close() {
      for (const messageId of [...given.keys()]) end(messageId);
    },
  };
}
