/**
 * Fetches each conversation's missed messages, from its cursor on. A page of history contains the newest messages and
 * their threads' last reply times, so one call tells whether anything is new. Recent older threads are checked
 * separately.
 */
import { z } from "zod";
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { SlackApi } from "../api/api.ts";
import { isPlaceProblem, isSlackError } from "../api/api-problems.ts";
import { maxHistoryPage, maxListPage } from "../limits.ts";
import { type Cursors, compare } from "./cursors.ts";
import { type MessageEvent, messagesSchema, type RawMessage } from "./events.ts";

export interface CatchUpOptions {
  api: SlackApi;
  cursors: Cursors;
  take(event: MessageEvent): Promise<void>;
  log: Log;
  signal: AbortSignal;
}

/** `start` means that no process was running; `reconnect`, that the connection was down for a moment. */
export type Absence = "start" | "reconnect";

export interface CatchUp {
  /** Holds the cursors before its first `await`, because new messages would move them past the gap. Never rejects. */
  run(absence: Absence): Promise<void>;
  /** Fetches the channel's missed messages soon, again and again until they are taken. */
  fetchSoon(channel: string): void;
}

const everyType = "public_channel,private_channel,im,mpim";
const everything = Number.POSITIVE_INFINITY;
/** `silent`: how many older DMs without any received message to check. */
const limits = {
  start: { channels: everything, oldThreads: everything, types: everyType, newChannels: everything, silent: 50 },
  reconnect: { channels: 80, oldThreads: 5, types: "im", newChannels: 20, silent: 0 },
};
const maxPages = 5;
const maxConcurrent = 4;
/** Messages older than this are not fetched, because nobody still waits for their answers. */
const maxAgeMs = 7 * 86_400_000;
const pauseMs = 30_000;
const refusedPauseMs = 10_000;
const maxTries = 5;

const pageSchema = z.object({
  messages: messagesSchema,
  has_more: z.boolean().optional(),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});
const listSchema = z.object({
  channels: z
    .array(
      z.object({
        id: z.string(),
        is_member: z.boolean().optional(),
        is_im: z.boolean().optional(),
        created: z.number().optional(),
      }),
    )
    .default([]),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

export function createCatchUp({ api, cursors, take, log, signal }: CatchUpOptions): CatchUp {
  const soon = new Set<string>();

  async function pages(method: string, args: Record<string, unknown>, isEnough: (page: RawMessage[]) => boolean) {
    const found: RawMessage[] = [];
    let cursor = "";
    for (let page = 0; page < maxPages; page++) {
      const next = cursor === "" ? {} : { cursor };
      const answer = await api.call(method, { ...args, ...next, limit: maxHistoryPage }, pageSchema, {
        maxRetryMs: 120_000,
      });
      found.push(...answer.messages);
      cursor = answer.response_metadata?.next_cursor ?? "";
      if (cursor === "" || isEnough(answer.messages)) break;
    }
    return found;
  }

  /** Returns missed messages, oldest first, including replies in threads. */
  async function missed(channel: string, since: string, oldThreads: number): Promise<RawMessage[]> {
    const isNew = ({ ts }: RawMessage) => compare(ts, since) > 0;
    const newest = await pages("conversations.history", { channel }, (page) => !page.every(isNew));
    const answered = newest.filter((each) => each.latest_reply !== undefined && compare(each.latest_reply, since) > 0);
    const seen = new Set(newest.map((each) => each.ts));
    const old = cursors.threadsOf(channel).filter((thread) => !seen.has(thread));
    const threads = [...answered.map((each) => each.ts), ...old.slice(0, oldThreads)];
    const replies: RawMessage[] = [];
    for (const ts of threads) replies.push(...(await repliesIn(channel, ts, since)));
    const all = new Map([...newest, ...replies].filter(isNew).map((each) => [each.ts, each]));
    return [...all.values()].sort((one, other) => compare(one.ts, other.ts));
  }

  async function repliesIn(channel: string, ts: string, since: string): Promise<RawMessage[]> {
    try {
      return await pages("conversations.replies", { channel, ts, oldest: since }, () => false);
    } catch (thrown) {
      if (isSlackError(thrown, "thread_not_found")) return [];
      throw thrown;
    }
  }

  async function fetchMissed(channel: string, since: string, oldThreads: number): Promise<number> {
    const oldest = ((Date.now() - maxAgeMs) / 1000).toFixed(6);
    const messages = await missed(channel, compare(since, oldest) > 0 ? since : oldest, oldThreads);
    for (const message of messages) await take({ ...message, type: "message", channel, channel_type: undefined });
    return messages.length;
  }

  /** Resolves to false if it gave up. */
  async function catchUpOne(channel: string, since: string, oldThreads: number): Promise<boolean> {
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        const count = await fetchMissed(channel, since, oldThreads);
        if (count > 0) log.info({ channel, count }, "fetched missed messages");
        cursors.release(channel);
        return true;
      } catch (thrown) {
        // If the agent is no longer a member, nothing counts as missed.
        if (isPlaceProblem(thrown) || isSlackError(thrown, "missing_scope")) {
          cursors.release(channel);
          return true;
        }
        log.warn({ channel, error: messageOf(thrown), attempt }, "could not fetch missed messages");
        if (attempt === maxTries) return false;
        await pause(pauseMs, signal);
      }
    }
    return false;
  }

  async function listed(types: string) {
    const found: z.infer<typeof listSchema>["channels"] = [];
    let cursor = "";
    for (let page = 0; page < maxPages; page++) {
      const args = { types, exclude_archived: true, limit: maxListPage, ...(cursor === "" ? {} : { cursor }) };
      const answer = await api.call("conversations.list", args, listSchema);
      found.push(...answer.channels);
      cursor = answer.response_metadata?.next_cursor ?? "";
      if (cursor === "") break;
    }
    return found;
  }

  /** Finds conversations that started or invited the agent during the absence, then the newest silent DMs. */
  async function newChannels(since: string, absence: Absence): Promise<{ id: string; isNew: boolean }[]> {
    const { types, newChannels: most, silent } = limits[absence];
    const known = new Set(cursors.channels());
    const unknown = (await listed(types)).filter(({ id }) => !known.has(id));
    const isYoung = (created = 0) => created >= Number(since) - 1;
    const fresh = unknown.filter((each) => each.is_member === true || (each.is_im === true && isYoung(each.created)));
    const old = unknown.filter((each) => each.is_im === true && !isYoung(each.created));
    old.sort((one, other) => (other.created ?? 0) - (one.created ?? 0));
    return [
      ...fresh.slice(0, most).map(({ id }) => ({ id, isNew: true })),
      ...old.slice(0, silent).map(({ id }) => ({ id, isNew: false })),
    ];
  }

  async function fetchRefused(channel: string): Promise<void> {
    for (let isTaken = false; !isTaken && !signal.aborted; ) {
      await pause(refusedPauseMs, signal);
      const since = cursors.hold(channel);
      isTaken = since === undefined || (await catchUpOne(channel, since, limits.reconnect.oldThreads));
    }
  }

  return {
    fetchSoon(channel) {
      if (soon.has(channel)) return;
      soon.add(channel);
      void fetchRefused(channel).finally(() => soon.delete(channel));
    },
    async run(absence) {
      const { channels: most, oldThreads } = limits[absence];
      const newest = cursors.newest();
      // If no message was ever received, none was missed.
      if (newest === undefined) return;
      const waiting = cursors
        .channels()
        .slice(0, most)
        .flatMap((channel) => {
          const since = cursors.hold(channel);
          return since === undefined ? [] : [{ channel, since }];
        });
      const work = async () => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          await catchUpOne(next.channel, next.since, oldThreads);
        }
      };
      await Promise.all(Array.from({ length: maxConcurrent }, work));
      try {
        for (const { id, isNew } of await newChannels(newest, absence)) {
          if (isNew) cursors.holdAt(id, newest);
          await catchUpOne(id, newest, 0);
        }
      } catch (thrown) {
        log.warn({ error: messageOf(thrown) }, "could not read Slack's list of conversations");
      }
    },
  };
}
