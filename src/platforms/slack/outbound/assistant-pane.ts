/**
 * What people do on Slack's surfaces for agents: they open a conversation, which gets suggestions, stop a session, or name it.
 * Threads of an older app's pane get their titles here.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { Work } from "../../../ports/conversation.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import { anyAnswer } from "../api/api.ts";
import { isDirect, parseConversationId, placeOf, timeOf } from "../conversation-id.ts";
import type { Handling } from "../interactions/handling.ts";
import { type AgentSessions, stateOf } from "./agent-sessions.ts";
import { sessionTitle } from "./session-title.ts";

export interface AssistantPane {
  opened(event: unknown): Promise<void>;
  /** Called when a tab of the app was opened. Handles only the messages tab. */
  tabOpened(event: unknown): Promise<void>;
  stopped(event: unknown): Promise<void>;
  renamed(event: unknown): void;
  said(message: InboundMessage): void;
  /** Ends a session that shows work although no turn and no message is left there. Never rejects. */
  endIfIdle(conversationId: string): Promise<void>;
  /** A person took a message back, perhaps before its turn began. */
  withdrawn(messageId: string): Promise<void>;
}

export interface AssistantPaneOptions extends Handling {
  sessions: AgentSessions;
  workIn(conversationId: string): Promise<Work>;
  withdrawnFrom(messageId: string): Promise<string | undefined>;
}

const openedSchema = z.object({ assistant_thread: z.object({ channel_id: z.string(), thread_ts: z.string() }) });
const tabSchema = z.object({ channel: z.string(), tab: z.literal("messages") });
const stoppedSchema = z.object({
  channel: z.string(),
  user: z.string(),
  thread_ts: z.string().optional(),
  event_ts: z.string(),
});
const renamedSchema = z.object({ channel: z.string(), thread_ts: z.string() });
const minSuggestIntervalMs = 3_600_000;

const prompts = [
  { title: "What can you do?", message: "What can you do for me here?" },
  { title: "What do you remember?", message: "What do you remember about me and our work?" },
  { title: "Plan something", message: "Help me plan something. Ask me what it is and what matters about it." },
];

export function createAssistantPane(options: AssistantPaneOptions): AssistantPane {
  const { api, handlers, identity, people, sessions, log } = options;
  const untitled = createLruMap<true>(1_000);
  const suggestedAt = createLruMap<number>(1_000);

  async function suggest(place: { channel_id: string; thread_ts?: string }): Promise<void> {
    const args = { ...place, prompts };
    await api.call("assistant.threads.setSuggestedPrompts", args, anyAnswer).catch((thrown: unknown) => {
      log.info({ error: messageOf(thrown) }, "could not set the suggested prompts");
    });
  }

  async function endIfIdle(conversationId: string): Promise<void> {
    const place = parseConversationId(conversationId);
    if (place === undefined || place.thread === null) return;
    try {
      const left = await handlers.unanswered("slack");
      if (left.some((message) => message.conversationId === conversationId)) return;
      const work = await options.workIn(conversationId);
      if (work !== "running") await sessions(place.channel, place.thread).set(stateOf[work]);
    } catch (thrown) {
      log.warn({ error: messageOf(thrown) }, "could not see whether a session is over");
    }
  }

  return {
    async opened(event) {
      const parsed = openedSchema.safeParse(event);
      if (!parsed.success) return;
      const { channel_id, thread_ts } = parsed.data.assistant_thread;
      untitled.set(`${channel_id}:${thread_ts}`, true);
      await suggest({ channel_id, thread_ts });
    },
    async tabOpened(event) {
      const parsed = tabSchema.safeParse(event);
      if (!parsed.success) return;
      const { channel } = parsed.data;
      if (Date.now() - (suggestedAt.get(channel) ?? Number.NEGATIVE_INFINITY) < minSuggestIntervalMs) return;
      suggestedAt.set(channel, Date.now());
      // Omit the thread: with one, Slack ignores the prompts, because threads belong to the older pane.
      await suggest({ channel_id: channel });
    },
    async stopped(event) {
      const parsed = stoppedSchema.safeParse(event);
      if (!parsed.success) return;
      const { channel, user, thread_ts: thread, event_ts: ts } = parsed.data;
      // Without a thread, it would stop what others asked in the channel.
      if (thread === undefined && !isDirect(channel)) return;
      const [{ teamId: team }, by] = await Promise.all([identity(), people.author(user)]);
      const place = placeOf({ team, channel, thread: thread ?? null }, user);
      const isInThread = thread !== undefined;
      await handlers.onCommand({
        ...place,
        isInThread,
        name: "stop",
        rest: "",
        by,
        at: Date.now(),
        saidBy: timeOf(ts),
      });
      // A turn that runs, or waits for people, sets the state itself when it ends.
      await endIfIdle(place.conversationId);
    },
    renamed(event) {
      const parsed = renamedSchema.safeParse(event);
      if (parsed.success) sessions(parsed.data.channel, parsed.data.thread_ts).renamed();
    },
    endIfIdle,
    async withdrawn(messageId) {
      try {
        const conversationId = await options.withdrawnFrom(messageId);
        if (conversationId !== undefined) await endIfIdle(conversationId);
      } catch (thrown) {
        log.warn({ error: messageOf(thrown) }, "could not see whether a message was taken back");
      }
    },
    said(message) {
      const place = parseConversationId(message.conversationId);
      const key = `${place?.channel}:${place?.thread}`;
      if (place === undefined || place.thread === null || !untitled.has(key)) return;
      untitled.delete(key);
      const title = sessionTitle(message);
      if (title === "") return;
      const args = { channel_id: place.channel, thread_ts: place.thread, title };
      api.call("assistant.threads.setTitle", args, anyAnswer).catch((thrown: unknown) => {
        log.info({ error: messageOf(thrown) }, "could not set the title of an assistant thread");
      });
    },
  };
}
