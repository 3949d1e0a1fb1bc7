/** The assistant pane: what it suggests when a person opens it, and a title for each thread, made of its first words. */
import { z } from "zod";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { InboundMessage } from "../../core/message.ts";
import type { SlackApi } from "./api.ts";
import { parseConversationId } from "./conversation-id.ts";
import { createRecent } from "./recent.ts";

export interface AssistantPane {
  opened(event: unknown): Promise<void>;
  /** Names a thread by the first thing that is said in it. */
  said(message: InboundMessage): void;
}

const schema = z.object({ assistant_thread: z.object({ channel_id: z.string(), thread_ts: z.string() }) });
const nothing = z.unknown();
const longestTitle = 60;

const prompts = [
  { title: "What can you do?", message: "What can you do for me here?" },
  { title: "What do you remember?", message: "What do you remember about me and our work?" },
  { title: "Plan something", message: "Help me to plan something: ask me what it is, and what matters about it." },
];

export function createAssistantPane(api: SlackApi, log: Log): AssistantPane {
  /** Threads that have no title yet. */
  const untitled = createRecent<true>(1_000);

  return {
    async opened(event) {
      const parsed = schema.safeParse(event);
      if (!parsed.success) return;
      const { channel_id: channel, thread_ts: thread } = parsed.data.assistant_thread;
      untitled.set(`${channel}:${thread}`, true);
      const args = { channel_id: channel, thread_ts: thread, prompts };
      await api.call("assistant.threads.setSuggestedPrompts", args, nothing).catch((thrown: unknown) => {
        log.info({ error: messageOf(thrown) }, "the assistant pane shows no suggestions");
      });
    },
    said({ conversationId, text }) {
      const place = parseConversationId(conversationId);
      const key = `${place?.channel}:${place?.thread}`;
      if (place === undefined || place.thread === null || !untitled.has(key)) return;
      untitled.delete(key);
      const line = text.replace(/\s+/g, " ").trim();
      const title = line.length > longestTitle ? `${line.slice(0, longestTitle - 1)}…` : line;
      if (title === "") return;
      const args = { channel_id: place.channel, thread_ts: place.thread, title };
      api.call("assistant.threads.setTitle", args, nothing).catch((thrown: unknown) => {
        log.info({ error: messageOf(thrown) }, "an assistant thread got no title");
      });
    },
  };
}
