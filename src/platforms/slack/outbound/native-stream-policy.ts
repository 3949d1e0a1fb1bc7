/**
 * Decides whether a reply can be a native stream. Slack streams only into threads, and only to the author of the
 * answered message; others see the beginning, and the final text at the end. If Slack refuses, replies use edits for a
 * while.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { LruMap } from "../../../lib/lru-map.ts";
import type { ReplyTarget } from "../../../ports/message.ts";
import { isPlatformAway } from "../../../ports/platform.ts";
import type { SlackApi } from "../api/api.ts";
import { isAway, isPlaceProblem, isSlackError, isTokenProblem } from "../api/api-problems.ts";
import type { People } from "../api/people.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { isDirect, parseMessageId } from "../conversation-id.ts";
import { maxStreamBytes } from "../limits.ts";
import type { AgentSession } from "./agent-sessions.ts";
import type { MessageSender } from "./message-sender.ts";
import type { Destination } from "./messages-of.ts";
import { createStream, type Stream, streamContent } from "./native-stream.ts";
import { safeMarkdown } from "./safe-text.ts";
import type { TaskChunk } from "./stream-tasks.ts";

export interface Streaming {
  start(beginning: Beginning): Promise<Stream | undefined>;
}

export interface Beginning {
  /** Of the reply. */
  api: SlackApi;
  destination: Destination;
  /** Of the destination's thread. */
  session: AgentSession;
  target: ReplyTarget;
  sender: MessageSender;
  key: string;
  first: string;
  tasks: TaskChunk[];
}

export interface StreamingOptions {
  api: SlackApi;
  mode: "native" | "edits";
  people: People;
  rateLimiter: RateLimiter;
  authors: LruMap<string>;
  log: Log;
}

const startedSchema = z.object({ ts: z.string() });
const repliesSchema = z.object({ messages: z.array(z.object({ ts: z.string(), user: z.string().optional() })) });
const maxFirstBytes = maxStreamBytes - 1_000;
const restMs = 10 * 60_000;

export function createStreaming(options: StreamingOptions): Streaming {
  const { api, mode, people, rateLimiter, authors, log } = options;
  let restUntil = 0;
  let tasksRestUntil = 0;

  async function recipientOf({ destination, target }: Beginning) {
    const userId = authors.get(target.messageId) ?? (await authorIn(destination, target.messageId));
    if (userId === undefined) return undefined;
    return { recipient_user_id: userId, recipient_team_id: await people.teamOf(userId) };
  }

  async function authorIn({ channel, thread }: Destination, messageId: string): Promise<string | undefined> {
    const message = parseMessageId(messageId);
    if (message === undefined || thread === null) return undefined;
    const range = { oldest: message.ts, latest: message.ts, inclusive: true, limit: 2 };
    const found = await api.call("conversations.replies", { channel, ts: thread, ...range }, repliesSchema);
    return found.messages.find(({ ts }) => ts === message.ts)?.user;
  }

  async function startNow(beginning: Beginning): Promise<Stream | undefined> {
    const { api: own, destination, session, sender, key } = beginning;
    const recipient = await recipientOf(beginning);
    if (recipient === undefined && !isDirect(destination.channel)) return undefined;
    const first = safeMarkdown(beginning.first);
    if (Buffer.byteLength(first) > maxFirstBytes) return undefined;
    const args = {
      ...{ channel: destination.channel, thread_ts: destination.thread, ...recipient },
      ...{ ...streamContent(first, beginning.tasks), task_display_mode: "plan" },
    };
    const { ts, isFound } = await sender.postStream(key, () =>
      session.starting(
        async () => (await own.call("chat.startStream", args, startedSchema, { isOnce: true, maxRetryMs: 0 })).ts,
      ),
    );
    // The text has changed since an earlier stream started, so edits continue that message.
    if (isFound) return undefined;
    const { channel } = destination;
    return createStream({ api: own, session, channel, ts, first, firstTasks: beginning.tasks });
  }

  return {
    async start(beginning) {
      const { destination, tasks } = beginning;
      const isInThread = destination.thread !== null && !beginning.sender.hasMoved();
      const isPossible = mode === "native" && isInThread && Date.now() >= restUntil;
      if (!isPossible || (tasks.length > 0 && Date.now() < tasksRestUntil) || rateLimiter.take("start") > 0)
        return undefined;
      try {
        return await startNow(beginning);
      } catch (thrown) {
        // The sender has gone on in the channel, where Slack has no streams.
        if (beginning.sender.hasMoved()) return undefined;
        if (isPlaceProblem(thrown) || isTokenProblem(thrown) || isPlatformAway(thrown)) throw thrown;
        log.info({ error: messageOf(thrown) }, "no native stream; showing the reply by edits");
        const isPassing = isAway(thrown) || isSlackError(thrown, "http", "user_not_found", "team_not_found");
        // A refusal of the tasks says nothing about streams of text.
        if (!isPassing && beginning.tasks.length > 0) tasksRestUntil = Date.now() + restMs;
        else if (!isPassing) restUntil = Date.now() + restMs;
        return undefined;
      }
    },
  };
}
