/** Reads what is shown where a turn answers, so that an earlier process's posts are found. */
import { z } from "zod";
import type { SlackApi } from "../api/api.ts";
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
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

export async function* messagesOf(api: SlackApi, { channel, thread, since }: Destination) {
  const method = thread === null ? "conversations.history" : "conversations.replies";
  let cursor = "";
  for (let page = 0; page < maxPages; page++) {
    const { messages, response_metadata: next } = await api.call(
      method,
      {
        channel,
        ...(thread === null ? {} : { ts: thread }),
        ...(cursor === "" ? {} : { cursor }),
        ...{ oldest: since, limit: maxHistoryPage, include_all_metadata: true },
      },
      foundSchema,
    );
    yield* messages;
    cursor = next?.next_cursor ?? "";
    if (cursor === "") return;
  }
}
