/** Shows "Remora is typing…". Discord hides this after ten seconds, and whenever the bot posts a message. */
import { Routes } from "discord.js";
import type { DiscordApi } from "../api/api.ts";
import { typingShownMs } from "../limits.ts";

export interface Typing {
  keep(): void;
  stop(): void;
}

const refreshMs = typingShownMs - 2_000;
/** An answer that starts sooner needs no typing indicator. */
const firstAfterMs = 200;

export interface TypingOptions {
  maxTypingMs: number;
  onEnd?(): void;
}

export function createTyping(
  api: DiscordApi,
  channelId: () => string | undefined,
  { maxTypingMs, onEnd = () => {} }: TypingOptions,
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
      timer = setTimeout(show, firstAfterMs);
      timer.unref();
    },
    stop,
  };
}
