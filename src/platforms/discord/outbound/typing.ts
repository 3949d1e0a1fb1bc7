/**
 * Shows "Remora is typing…". Discord hides this after ten seconds, and whenever the bot posts a message. One channel has
 * one indicator, however many messages are waiting there: more requests would wait for Discord's limit, and with them the
 * first sign of a later message.
 */
import { Routes } from "discord.js";
import { elapsedSince, leftOf } from "../../../lib/elapsed.ts";
import type { DiscordApi } from "../api/api.ts";
import { typingShownMs } from "../limits.ts";

export interface TypingIndicators {
  /**
   * Shows the indicator unless it is there already, or too many others are. Returns the time until the next call, in
   * milliseconds.
   */
  show(channelId: string): number;
  /** Call this when the bot has posted a message. */
  hidden(channelId: string): void;
}

export interface Typing {
  keep(): void;
  stop(): void;
}

const refreshMs = typingShownMs - 2_000;
/** At once, of all channels. Renewing them takes a fifth of Discord's requests per second, and leaves the rest for answers. */
const maxShown = 80;

export function createTypingIndicators(api: DiscordApi): TypingIndicators {
  /** Oldest first. */
  const shownAt = new Map<string, number>();
  return {
    show(channelId) {
      const now = Date.now();
      for (const [id, at] of shownAt) {
        if (elapsedSince(at, now) < refreshMs) break;
        shownAt.delete(id);
      }
      const last = shownAt.get(channelId);
      if (last !== undefined) return leftOf(refreshMs, last, now);
      if (shownAt.size >= maxShown) return refreshMs;
      shownAt.set(channelId, now);
      // Typing is optional, so ignore failures.
      api.request({ method: "POST", route: Routes.channelTyping(channelId), retry: "once" }).catch(() => {
        if (shownAt.get(channelId) === now) shownAt.delete(channelId);
      });
      return refreshMs;
    },
    hidden: (channelId) => void shownAt.delete(channelId),
  };
}

export interface TypingOptions {
  maxTypingMs: number;
  /** An answer that starts sooner needs no typing indicator. */
  firstAfterMs?: number;
  onEnd?(): void;
}

export function createTyping(
  indicators: TypingIndicators,
  channelId: () => string | undefined,
  { maxTypingMs, firstAfterMs = 0, onEnd = () => {} }: TypingOptions,
): Typing {
  let timer: NodeJS.Timeout | undefined;
  let keptAt = 0;

  function show(): void {
    const channel = channelId();
    if (elapsedSince(keptAt) >= maxTypingMs || channel === undefined) {
      stop();
      onEnd();
      return;
    }
    timer = setTimeout(show, indicators.show(channel));
    timer.unref();
  }

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    keep() {
      keptAt = Date.now();
      if (timer !== undefined) return;
      if (firstAfterMs === 0) return show();
      timer = setTimeout(show, firstAfterMs);
      timer.unref();
    },
    stop,
  };
}
