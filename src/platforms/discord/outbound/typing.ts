/** "Remora is typing …", shown while something is worked on. It holds ten seconds, and ends with each message. */
import { Routes } from "discord.js";
import type { DiscordApi } from "../api/api.ts";

export interface Typing {
  /** From now on; the longer nothing is heard of the work, the sooner it ends. */
  keep(): void;
  stop(): void;
}

const everyMs = 8_000;
/** An answer that comes at once needs no announcement. */
const firstAfterMs = 200;

export interface TypingOptions {
  /** After the last word of the work, in milliseconds. */
  longestMs: number;
  /** It ended because its time was over. */
  onEnd?(): void;
}

export function createTyping(
  api: DiscordApi,
  channelId: () => string | undefined,
  { longestMs, onEnd = () => {} }: TypingOptions,
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
    timer = setTimeout(show, everyMs);
    timer.unref();
    // Where it may not be shown it is not missed.
    api.request({ method: "POST", route: Routes.channelTyping(channel), patience: "once" }).catch(() => {});
  }

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    keep() {
      until = Date.now() + longestMs;
      if (timer !== undefined) return;
      timer = setTimeout(show, firstAfterMs);
      timer.unref();
    },
    stop,
  };
}
