/** Shows "Remora is typing…". Discord hides this after ten seconds, and whenever the bot posts a message. */
import { Routes } from "discord.js";
import type { DiscordApi } from "../api/api.ts";
import { typingShownMs } from "../limits.ts";

export interface Typing {
  keep(): void;
  stop(): void;
}

const refreshMs = typingShownMs - 2_000;

export interface TypingOptions {
  maxTypingMs: number;
  /** An answer that starts sooner needs no typing indicator. */
  firstAfterMs?: number;
  onEnd?(): void;
}

export function createTyping(
  api: DiscordApi,
  channelId: () => string | undefined,
  { maxTypingMs, firstAfterMs = 0, onEnd = () => {} }: TypingOptions,
): Typing {
  let timer: NodeJS.Timeout | undefined;
  let until = 0;

  function show(): void {
    const channel = channelId();
    if (Date.now() >= until || channel === undefined) {
      stop();
      onEnd();
      return;
    }
    timer = setTimeout(show, refreshMs);
    timer.unref();
    // Typing is optional, so ignore failures.
    api.request({ method: "POST", route: Routes.channelTyping(channel), retry: "once" }).catch(() => {});
  }

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    keep() {
      until = Date.now() + maxTypingMs;
      if (timer !== undefined) return;
      if (firstAfterMs === 0) return show();
      timer = setTimeout(show, firstAfterMs);
      timer.unref();
    },
    stop,
  };
}
