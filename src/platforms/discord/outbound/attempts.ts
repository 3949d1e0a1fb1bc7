/**
 * Finds messages that an earlier process posted without storing their ids. Discord returns the existing message for a
 * repeated nonce, but only for a few minutes. So every post leaves a trace in the ledger beforehand: when it was tried,
 * and a hash of what people read. After a crash, the message is looked for before it is posted again.
 */
import { createHash } from "node:crypto";
import { type APIMessage, Routes } from "discord.js";
import type { Posts } from "../../../ports/platform.ts";
import type { DiscordApi } from "../api/api.ts";
import type { OwnId } from "../api/own-id.ts";
import { newerId, snowflakeAt } from "../inbound/cursors.ts";
import { maxHistoryPage } from "../limits.ts";
import { type OutgoingMessage, visibleText } from "./messages.ts";

export interface Attempts {
  /** Call this before every post. Resolves when the trace is stored. */
  begin(key: string, message: OutgoingMessage): Promise<void>;
  /** True if somebody, perhaps in an earlier process, tried to post the message. */
  isTried(key: string): Promise<boolean>;
  /** Call this if Discord refused the post, so that there is nothing to find. */
  refused(key: string, message: OutgoingMessage): Promise<void>;
  /** Looks in a channel for the message with this key. `replyTo` is the message that it would answer. */
  find(key: string, channelId: string, replyTo?: string): Promise<string | undefined>;
}

export interface AttemptsOptions {
  api: DiscordApi;
  posts: Posts;
  ownId: OwnId;
}

interface Attempt {
  hash: string;
  at: number;
  isRefused?: boolean;
}

/** Discord's clocks may differ by this much, and ours before Discord has answered anything. */
const maxClockSkewMs = 2 * 60_000;
/** The message follows its attempt closely, so it is among the first ones. */
const maxPages = 5;
const tracePattern = /^try:([\w-]+):(.+)$/;

export function createAttempts({ api, posts, ownId }: AttemptsOptions): Attempts {
  let loaded: Promise<Map<string, Attempt[]>> | undefined;

  async function load(): Promise<Map<string, Attempt[]>> {
    const found = new Map<string, Attempt[]>();
    for (const { key: trace, messageId: at } of await posts.all()) {
      const [, hash = "", key = ""] = tracePattern.exec(trace) ?? [];
      if (key !== "") found.set(key, [...(found.get(key) ?? []), { hash, at: Number(at) }]);
    }
    return found;
  }

  async function attemptsOf(key: string): Promise<Attempt[]> {
    loaded ??= load();
    return (await loaded).get(key) ?? [];
  }

  return {
    async begin(key, message) {
      const text = visibleText(message);
      // Nothing could tell such a message from others.
      if (text.trim() === "") return;
      const [hash, at] = [hashOf(text), api.now()];
      const earlier = await attemptsOf(key);
      const same = earlier.find((attempt) => attempt.hash === hash);
      if (same !== undefined) return void delete same.isRefused;
      await posts.keep(`try:${hash}:${key}`, String(at));
      (await loaded)?.set(key, [...earlier, { hash, at }]);
    },
    isTried: async (key) => (await attemptsOf(key)).length > 0,
    async refused(key, message) {
      const hash = hashOf(visibleText(message));
      for (const attempt of await attemptsOf(key)) if (attempt.hash === hash) attempt.isRefused = true;
    },
    async find(key, channelId, replyTo) {
      const attempts = (await attemptsOf(key)).filter(({ isRefused }) => isRefused !== true);
      if (attempts.length === 0) return undefined;
      const hashes = new Set(attempts.map(({ hash }) => hash));
      const since = snowflakeAt(Math.min(...attempts.map(({ at }) => at)) - maxClockSkewMs);
      const own = await ownId();
      for await (const message of messagesAfter(api, channelId, since)) {
        const answers = message.message_reference?.message_id;
        const isOurs = message.author.id === own && (answers === undefined || answers === replyTo);
        if (isOurs && hashes.has(hashOf(visibleText(message)))) return message.id;
      }
      return undefined;
    },
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** Oldest first. */
async function* messagesAfter(api: DiscordApi, channelId: string, since: string): AsyncGenerator<APIMessage> {
  let after = since;
  for (let page = 0; page < maxPages; page++) {
    const query = { after, limit: String(maxHistoryPage) };
    const route = Routes.channelMessages(channelId);
    const found = await api.request<APIMessage[]>({ method: "GET", route, query });
    yield* found.toReversed();
    if (found.length < maxHistoryPage) return;
    after = found.reduce((newest, { id }) => newerId(newest, id), after);
  }
}
