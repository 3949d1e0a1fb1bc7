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
      const typing = createTyping(indicators, () => channelId, { maxTypingMs, onEnd: () => end(messageId) });
      typings.set(messageId, typing);
      // A thread has the id of its first message.
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
