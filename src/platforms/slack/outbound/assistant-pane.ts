/** Slack's features for agents: suggested prompts, thread titles, and a stop button that runs the command `stop`. */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { parseConversationId, placeOf } from "../conversation-id.ts";
import type { Handling } from "../interactions/handling.ts";

export interface AssistantPane {
  opened(event: unknown): Promise<void>;
  /** Called when a tab of the app was opened. Handles only the messages tab. */
  tabOpened(event: unknown): Promise<void>;
  stopped(event: unknown): Promise<void>;
  said(message: InboundMessage): void;
}

const openedSchema = z.object({ assistant_thread: z.object({ channel_id: z.string(), thread_ts: z.string() }) });
const tabSchema = z.object({ channel: z.string(), tab: z.literal("messages") });
const stoppedSchema = z.object({ channel: z.string(), user: z.string(), thread_ts: z.string().optional() });
const maxTitleLength = 60;
const minSuggestIntervalMs = 3_600_000;

const prompts = [
  { title: "What can you do?", message: "What can you do for me here?" },
  { title: "What do you remember?", message: "What do you remember about me and our work?" },
  { title: "Plan something", message: "Help me plan something. Ask me what it is and what matters about it." },
];

export function createAssistantPane({ api, handlers, identity, people, log }: Handling): AssistantPane {
  const untitled = createLruMap<true>(1_000);
  const suggestedAt = createLruMap<number>(1_000);

  async function suggest(place: { channel_id: string; thread_ts?: string }): Promise<void> {
    const args = { ...place, prompts };
    await api.call("assistant.threads.setSuggestedPrompts", args, anyAnswer).catch((thrown: unknown) => {
      log.info({ error: messageOf(thrown) }, "could not set the suggested prompts");
    });
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
      const { channel, user, thread_ts: thread } = parsed.data;
      const [{ teamId: team }, by] = await Promise.all([identity(), people.author(user)]);
      const place = placeOf({ team, channel, thread: thread ?? null }, user);
      const isInThread = thread !== undefined;
      await handlers.onCommand({ ...place, isInThread, name: "stop", rest: "", by, at: Date.now() });
      await endSession(api, channel, thread ?? null);
    },
    said({ conversationId, text }) {
      const place = parseConversationId(conversationId);
      const key = `${place?.channel}:${place?.thread}`;
      if (place === undefined || place.thread === null || !untitled.has(key)) return;
      untitled.delete(key);
      const title = shorten(text.replace(/\s+/g, " ").trim(), maxTitleLength);
      if (title === "") return;
      const args = { channel_id: place.channel, thread_ts: place.thread, title };
      api.call("assistant.threads.setTitle", args, anyAnswer).catch((thrown: unknown) => {
        log.info({ error: messageOf(thrown) }, "could not set the title of an assistant thread");
      });
    },
  };
}

/** Ends a session that would otherwise show as working. Failures are ignored: apps that are not agents have none. */
export async function endSession(api: SlackApi, channel: string, thread: string | null): Promise<void> {
  if (thread === null) return;
  const args = { channel_id: channel, thread_ts: thread, status: "active" };
  await api.call("agents.sessions.setStatus", args, anyAnswer, { maxRetryMs: 0 }).catch(() => {});
}
