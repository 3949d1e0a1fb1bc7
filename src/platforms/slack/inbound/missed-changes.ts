/**
 * Looks again at the messages that no turn has answered yet. If a process was killed right after an edit or a deletion, Slack
 * may not send the event again. In doubt, a message stays as it is.
 */
import { z } from "zod";
import type { Log } from "../../../lib/log.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import { lookAgain } from "../../shared/look-again.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import { parseConversationId, parseMessageId, type SlackMessageId, threadOf } from "../conversation-id.ts";
import { maxRepliesPage } from "../limits.ts";
import { messagesSchema, type RawMessage } from "./events.ts";
import type { Inbound } from "./inbound.ts";

export interface MissedChangesOptions {
  api: SlackApi;
  handlers: Pick<PlatformHandlers, "unanswered">;
  inbound: Pick<Inbound, "changed" | "deleted">;
  log: Log;
}

const maxRetryMs = 120_000;
const pageSchema = z.object({ messages: messagesSchema });

export function createMissedChanges({ api, handlers, inbound, log }: MissedChangesOptions) {
  async function read({ channel, ts }: SlackMessageId, thread: string | null): Promise<RawMessage | undefined> {
    const only = { channel, oldest: ts, latest: ts, inclusive: true };
    const [method, args] =
      thread === null
        ? (["conversations.history", { ...only, limit: 1 }] as const)
        : (["conversations.replies", { ...only, ts: thread, limit: maxRepliesPage }] as const);
    try {
      const { messages } = await api.call(method, args, pageSchema, { maxRetryMs });
      return messages.find((each) => each.ts === ts);
    } catch (thrown) {
      if (isSlackError(thrown, "thread_not_found")) return undefined;
      throw thrown;
    }
  }

  async function look({ id, conversationId }: InboundMessage): Promise<void> {
    const said = parseMessageId(id);
    if (said === undefined) return;
    const thread = threadOf(said.ts, parseConversationId(conversationId)?.thread ?? undefined);
    const { channel } = said;
    const message = await read(said, thread);
    const placed = { ts: said.ts, ...(thread === null ? {} : { thread_ts: thread }) };
    if (message === undefined) await inbound.deleted({ channel, deleted_ts: said.ts, previous_message: placed });
    else if (message.edited !== undefined || message.subtype === "tombstone")
      await inbound.changed({ channel, message });
  }

  /** Of these messages, or of all that no turn has answered yet. Never rejects. */
  return (messages = handlers.unanswered("slack")): Promise<void> => lookAgain(messages, look, log);
}
