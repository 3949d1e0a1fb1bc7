/** One native stream. Text can only be appended. Slack limits a stream to five minutes and 12,000 bytes. */
import { z } from "zod";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import { maxStreamBytes, streamLifetimeMs } from "../limits.ts";
import { endSession } from "./assistant-pane.ts";
import type { Metadata } from "./message-sender.ts";
import type { Block } from "./render.ts";
import { beginningOf, safeMarkdown } from "./safe-text.ts";

export interface Stream {
  ts: string;
  /** Returns what to append to reach this text, possibly nothing, or undefined if a stream can't show it. */
  next(markdown: string): string | undefined;
  /** Returns false if Slack or the person ended the stream, and then also ends its session. */
  append(text: string): Promise<boolean>;
  /** `below` are blocks that follow the text. */
  stop(rest: string, metadata: Metadata, below?: readonly Block[]): Promise<boolean>;
  isOld(): boolean;
}

export interface StreamOptions {
  api: SlackApi;
  channel: string;
  thread: string | null;
  ts: string;
  first: string;
  now: () => number;
}

const nothing = z.unknown();
const maxBytes = maxStreamBytes - 500;
const maxStreamMs = streamLifetimeMs - 60_000;
/** Retry for long, because a late partial text is better than none. */
const maxRetryMs = 20_000;

export function createStream({ api, channel, thread, ts, first, now }: StreamOptions): Stream {
  const startedAt = now();
  let sent = first;

  async function isTaken(call: Promise<unknown>): Promise<boolean> {
    try {
      await call;
      return true;
    } catch (thrown) {
      if (isSlackError(thrown, "msg_too_long")) return false;
      if (!isSlackError(thrown, "message_not_in_streaming_state", "stopped_by_user")) throw thrown;
      await endSession(api, channel, thread);
      return false;
    }
  }

  return {
    ts,
    next(markdown) {
      const whole = safeMarkdown(markdown);
      if (!whole.startsWith(sent) || Buffer.byteLength(whole) > maxBytes) return undefined;
      return whole.slice(sent.length);
    },
    async append(text) {
      const isOpen = await isTaken(
        api.call("chat.appendStream", { channel, ts, markdown_text: text }, nothing, { isOnce: true, maxRetryMs }),
      );
      if (isOpen) sent += text;
      return isOpen;
    },
    stop: (rest, metadata, below = []) =>
      isTaken(
        api.call(
          "chat.stopStream",
          {
            channel,
            ts,
            metadata,
            ...(rest === "" ? {} : { markdown_text: rest }),
            ...(below.length === 0 ? {} : { blocks: below }),
          },
          nothing,
          {
            isOnce: true,
          },
        ),
      ),
    isOld: () => now() - startedAt > maxStreamMs,
  };
}

/** Cuts before an unfinished code span or formatting character, because later text may change how it renders. */
export function settledPart(text: string): string {
  const markdown = beginningOf(text, text.length);
  const lineStart = markdown.lastIndexOf("\n") + 1;
  const line = markdown.slice(lineStart);
  const opening = line.search(/[`<\\]/);
  if (opening === -1) return markdown;
  const isCodeWhole = (line.match(/`+/g) ?? []).length % 2 === 0 && !/[<\\]/.test(line);
  return isCodeWhole ? markdown : markdown.slice(0, lineStart + opening);
}
