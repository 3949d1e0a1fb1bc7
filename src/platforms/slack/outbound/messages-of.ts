/** Reads what is shown where a turn answers, so that an earlier process's posts are found. */
import { z } from "zod";
import type { SlackApi } from "../api/api.ts";
import { pagesOf } from "../api/pages.ts";
import { maxHistoryPage } from "../limits.ts";

/** No message of the turn is older than `since`. */
export interface Destination {
  channel: string;
  thread: string | null;
  since: string;
}

const maxPages = 5;

const foundSchema = z.object({
  messages: z
    .array(
      z.object({
        ts: z.string(),
        user: z.string().optional(),
        streaming_state: z.string().optional(),
        files: z.array(z.object({ id: z.string() })).catch([]),
        metadata: z
          .object({
            event_type: z.string(),
            event_payload: z.object({ turn: z.unknown().optional(), key: z.unknown().optional() }).loose(),
          })
          .optional()
          .catch(undefined),
      }),
    )
    .default([]),
});

export async function* messagesOf(api: SlackApi, { channel, thread, since }: Destination) {
  const method = thread === null ? "conversations.history" : "conversations.replies";
  const place = { channel, ...(thread === null ? {} : { ts: thread }) };
  const args = { ...place, oldest: since, limit: maxHistoryPage, include_all_metadata: true };
  for await (const { messages } of pagesOf(api, method, args, foundSchema, maxPages)) yield* messages;
}
