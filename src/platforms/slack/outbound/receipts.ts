/**
 * Shows at once that a message is taken: by a status in its thread, or, where Slack has no statuses, by a reaction that goes
 * away with the answer. Any process can take the reaction away. A configured reaction is there as well, and stays.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import { parseConversationId, parseMessageId } from "../conversation-id.ts";
import type { ThreadStatuses } from "./thread-status.ts";

export interface Receipts {
  give(message: InboundMessage): void;
  /** Never rejects. Must be called for the newest message of a turn when its answer or a card is there. */
  end(messageId: string): Promise<void>;
}

export interface ReceiptsOptions {
  api: SlackApi;
  statuses: ThreadStatuses;
  /** A reaction for every message, or null. */
  ackReaction: string | null;
  log: Log;
}

const takenStatus = "is on it";
const waitingReaction = "hourglass_flowing_sand";
/** Slack lets an app take away fewer reactions than it lets it add, and one that stays would mislead. */
const maxReactionMs = { "reactions.add": 5_000, "reactions.remove": 5 * 60_000 };
const nothing = z.unknown();

export function createReceipts({ api, statuses, ackReaction, log }: ReceiptsOptions): Receipts {
  async function react(method: "reactions.add" | "reactions.remove", messageId: string, emoji: string): Promise<void> {
    const said = parseMessageId(messageId);
    if (said === undefined) return;
    const args = { channel: said.channel, timestamp: said.ts, name: emoji.replaceAll(":", "") };
    await api.call(method, args, nothing, { maxRetryMs: maxReactionMs[method] }).catch((thrown: unknown) => {
      if (isSlackError(thrown, "no_reaction", "already_reacted", "message_not_found")) return;
      log.debug({ error: messageOf(thrown) }, "could not change the acknowledgement reaction");
    });
  }

  return {
    give({ id, conversationId }) {
      const place = parseConversationId(conversationId);
      if (place === undefined) return;
      const isInThread = place.thread !== null;
      if (place.thread !== null) void statuses(place.channel, place.thread).begin(takenStatus);
      if (ackReaction !== null) void react("reactions.add", id, ackReaction);
      else if (!isInThread) void react("reactions.add", id, waitingReaction);
    },
    async end(messageId) {
      if (ackReaction === null) await react("reactions.remove", messageId, waitingReaction);
    },
  };
}
