/**
 * Shows at once that a message is taken: by a status in its thread, or, where Slack has no statuses, by a reaction that goes
 * away with the answer. The store names the messages with it, so any process can take it away. A configured reaction is there as well, and stays.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Log } from "../../../lib/log.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import type { Store } from "../../../ports/store.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import { parseConversationId, parseMessageId } from "../conversation-id.ts";
import type { ThreadStatuses } from "./thread-status.ts";

export interface Receipts {
  give(message: InboundMessage): void;
  /** Call this when an answer or a card is there. Never rejects. */
  end(conversationId: string): Promise<void>;
}

export interface ReceiptsOptions {
  api: SlackApi;
  statuses: ThreadStatuses;
  store: Store;
  /** A reaction for every message, or null. */
  ackReaction: string | null;
  log: Log;
}

const takenStatus = "is on it";
const waitingReaction = "hourglass_flowing_sand";
/** Slack lets an app take away fewer reactions than it lets it add, and one that stays would mislead. */
const maxReactionMs = { "reactions.add": 5_000, "reactions.remove": 5 * 60_000 };
const maxMarked = 20;
const keptMs = 86_400_000;
const nothing = z.unknown();
const markedSchema = z.array(z.string());

export function createReceipts({ api, statuses, store, ackReaction, log }: ReceiptsOptions): Receipts {
  async function react(method: "reactions.add" | "reactions.remove", messageId: string, emoji: string): Promise<void> {
    const said = parseMessageId(messageId);
    if (said === undefined) return;
    const args = { channel: said.channel, timestamp: said.ts, name: emoji.replaceAll(":", "") };
    await api.call(method, args, nothing, { maxRetryMs: maxReactionMs[method] }).catch((thrown: unknown) => {
      if (isSlackError(thrown, "no_reaction", "already_reacted", "message_not_found")) return;
      log.debug({ error: messageOf(thrown) }, "could not change the acknowledgement reaction");
    });
  }

  const oneAtATime = createKeyedMutex();

  async function markedIn(conversationId: string): Promise<string[]> {
    return markedSchema.catch([]).parse(await store.get(markedKey(conversationId)));
  }

  async function mark(conversationId: string, messageId: string): Promise<void> {
    // Store it first, so that a crash leaves no reaction that nobody takes away.
    const marked = [...(await markedIn(conversationId)), messageId].slice(-maxMarked);
    await store.set(markedKey(conversationId), marked, keptMs);
    await react("reactions.add", messageId, waitingReaction);
  }

  async function unmark(conversationId: string): Promise<void> {
    const marked = await markedIn(conversationId);
    if (marked.length === 0) return;
    for (const messageId of marked) await react("reactions.remove", messageId, waitingReaction);
    await store.delete(markedKey(conversationId));
  }

  /** One after the other: a reaction must not arrive after it was to be taken away. */
  async function inOrder(conversationId: string, work: () => Promise<void>): Promise<void> {
    await oneAtATime(conversationId, work).catch((thrown: unknown) =>
      log.debug({ error: messageOf(thrown) }, "could not change the reaction of a waiting message"),
    );
  }

  return {
    give({ id, conversationId }) {
      const place = parseConversationId(conversationId);
      if (place === undefined) return;
      const isInThread = place.thread !== null;
      if (place.thread !== null) void statuses(place.channel, place.thread).begin(takenStatus);
      if (ackReaction !== null) void react("reactions.add", id, ackReaction);
      else if (!isInThread) void inOrder(conversationId, () => mark(conversationId, id));
    },
    async end(conversationId) {
      if (ackReaction === null) await inOrder(conversationId, () => unmark(conversationId));
    },
  };
}

function markedKey(conversationId: string): string {
  return `slack-waiting-reaction:${conversationId}`;
}
