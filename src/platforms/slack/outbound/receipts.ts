/**
 * Shows at once that a message is taken: by the session of its thread, or, where Slack has no sessions, by a reaction that goes
 * away with the answer. The store names the messages with it, so any process can take it away, and those that Slack did not let
 * it take away, so that it tries until it can. A configured reaction is there as well, and stays.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Log } from "../../../lib/log.ts";
import type { WithLock } from "../../../ports/cluster.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import type { Store } from "../../../ports/store.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { isAway, isSlackError } from "../api/api-problems.ts";
import { parseConversationId, parseMessageId } from "../conversation-id.ts";
import type { AgentSessions } from "./agent-sessions.ts";
import { sessionTitle } from "./session-title.ts";

export interface Receipts {
  /** Resolves when the thread shows it, if it has a session. Never rejects. */
  give(message: InboundMessage): Promise<void>;
  /** Call this when an answer or a card is there. Never rejects. */
  end(conversationId: string): Promise<void>;
  /** Takes away what could not be taken away before, perhaps by an earlier process. Never rejects. */
  resume(): Promise<void>;
}

export interface ReceiptsOptions {
  api: SlackApi;
  sessions: AgentSessions;
  store: Store;
  /** Set if other processes use the store too. */
  withLock?: WithLock | undefined;
  signal: AbortSignal;
  /** A reaction for every message, or null. */
  ackReaction: string | null;
  log: Log;
}

const waitingReaction = "hourglass_flowing_sand";
const maxReactionMs = 5_000;
const tryAgainMs = 30_000;
const maxMarked = 20;
/** Messages whose reaction could not be taken away. The oldest are forgotten first. */
const dueKey = "slack-reactions-to-remove";
const maxDue = 500;
const keptMs = 86_400_000;
const markedSchema = z.array(z.string());

export function createReceipts(options: ReceiptsOptions): Receipts {
  const { api, sessions, store, withLock, signal, ackReaction, log } = options;
  const oneAtATime = createKeyedMutex();
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });

  /** False if it is worth another try later. */
  async function react(method: "reactions.add" | "reactions.remove", messageId: string, emoji: string) {
    const said = parseMessageId(messageId);
    if (said === undefined) return true;
    const args = { channel: said.channel, timestamp: said.ts, name: emoji.replaceAll(":", "") };
    try {
      await api.call(method, args, anyAnswer, { maxRetryMs: maxReactionMs });
      return true;
    } catch (thrown) {
      if (isSlackError(thrown, "no_reaction", "already_reacted", "message_not_found")) return true;
      log.debug({ error: messageOf(thrown) }, "could not change the acknowledgement reaction");
      return !isAway(thrown);
    }
  }

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
    const left = await notRemoved(marked);
    if (left.length > 0) await changeDue((due) => [...due, ...left]);
    await store.delete(markedKey(conversationId));
  }

  /** Stops at the first refusal that passes, because Slack would refuse the others too. */
  async function notRemoved(messageIds: readonly string[]): Promise<string[]> {
    for (const [index, messageId] of messageIds.entries())
      if (!(await react("reactions.remove", messageId, waitingReaction))) return messageIds.slice(index);
    return [];
  }

  async function dueIds(): Promise<string[]> {
    return markedSchema.catch([]).parse(await store.get(dueKey));
  }

  async function changeDue(change: (due: string[]) => string[]): Promise<void> {
    const write = async () => {
      const due = change(await dueIds()).slice(-maxDue);
      await (due.length === 0 ? store.delete(dueKey) : store.set(dueKey, due, keptMs));
      if (due.length > 0) tryAgain();
    };
    // Not under `dueKey`, which `resume` holds.
    await oneAtATime(`${dueKey}:write`, () => (withLock === undefined ? write() : withLock(dueKey, write)));
  }

  function tryAgain(): void {
    if (signal.aborted) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void resume();
    }, tryAgainMs).unref();
  }

  async function resume(): Promise<void> {
    await inOrder(dueKey, async () => {
      const due = await dueIds();
      if (due.length === 0) return;
      const left = new Set(await notRemoved(due));
      await changeDue((now) => now.filter((id) => left.has(id) || !due.includes(id)));
    });
  }

  /** One after the other: a reaction must not arrive after it was to be taken away. */
  async function inOrder(conversationId: string, work: () => Promise<void>): Promise<void> {
    await oneAtATime(conversationId, work).catch((thrown: unknown) =>
      log.debug({ error: messageOf(thrown) }, "could not change the reaction of a waiting message"),
    );
  }

  return {
    async give(message) {
      const { id, conversationId } = message;
      const place = parseConversationId(conversationId);
      if (place === undefined) return;
      if (ackReaction !== null) void react("reactions.add", id, ackReaction);
      else if (place.thread === null) void inOrder(conversationId, () => mark(conversationId, id));
      if (place.thread === null) return;
      const [title, initiator] = [sessionTitle(message), message.author.isBot ? undefined : message.author.id];
      await sessions(place.channel, place.thread).set("processing", {
        ...(title === "" ? {} : { title }),
        ...(initiator === undefined ? {} : { initiator_user_id: initiator }),
      });
    },
    async end(conversationId) {
      if (ackReaction === null) await inOrder(conversationId, () => unmark(conversationId));
    },
    resume,
  };
}

function markedKey(conversationId: string): string {
  return `slack-waiting-reaction:${conversationId}`;
}
