/** What people see between their message and the first words of the answer: a reaction where that is wanted, and typing. */
import { Routes } from "discord.js";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { DiscordApi } from "./api.ts";
import { emojiFor } from "./emoji.ts";
import { createTyping, type Typing } from "./typing.ts";

export interface Acknowledgements {
  /** The message is kept and will be answered. */
  give(channelId: string, messageId: string): void;
  /** Its answer has begun. */
  end(messageId: string): void;
  close(): void;
}

/** A turn that waits for another one for so long is not being worked on. */
const longestMs = 60_000;

/** `reaction`: null for none. */
export function createAcknowledgements(api: DiscordApi, reaction: string | null, log: Log): Acknowledgements {
  const typings = new Map<string, Typing>();
  const emoji = reaction === null ? undefined : emojiFor(reaction);

  function react(channelId: string, messageId: string, sign: string): void {
    const route = Routes.channelMessageOwnReaction(channelId, messageId, encodeURIComponent(sign));
    api
      .request({ method: "PUT", route })
      .catch((thrown: unknown) =>
        log.debug({ messageId, error: messageOf(thrown) }, "a message could not be given its reaction"),
      );
  }

  function end(messageId: string): void {
    typings.get(messageId)?.stop();
    typings.delete(messageId);
  }

  return {
    give(channelId, messageId) {
      const typing = createTyping(api, () => channelId, { longestMs, onEnd: () => typings.delete(messageId) });
      typings.set(messageId, typing);
      typing.keep();
      if (emoji !== undefined) react(channelId, messageId, emoji);
    },
    end,
    close() {
      for (const messageId of [...typings.keys()]) end(messageId);
    },
  };
}
