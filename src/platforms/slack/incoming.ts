/** What Slack's events and histories hold, as far as it is read here; everything else in them is left alone. */
import { z } from "zod";

export const messageSchema = z.object({
  type: z.string().optional(),
  subtype: z.string().optional(),
  user: z.string().optional(),
  username: z.string().optional(),
  bot_id: z.string().optional(),
  bot_profile: z.object({ name: z.string().optional() }).optional(),
  text: z.string().nullish(),
  ts: z.string(),
  thread_ts: z.string().optional(),
  latest_reply: z.string().optional(),
  reply_count: z.number().optional(),
  files: z.array(z.unknown()).optional(),
  /** Messages that were forwarded or quoted. */
  attachments: z
    .array(
      z.object({
        is_share: z.boolean().optional(),
        is_msg_unfurl: z.boolean().optional(),
        text: z.string().optional(),
        author_name: z.string().optional(),
      }),
    )
    .optional()
    .catch(undefined),
});
export type RawMessage = z.infer<typeof messageSchema>;

export const messageEventSchema = messageSchema.extend({ channel: z.string() });
export type MessageEvent = z.infer<typeof messageEventSchema>;

export const changedSchema = z.object({
  channel: z.string(),
  message: messageSchema,
  previous_message: messageSchema.optional(),
});

export const deletedSchema = z.object({
  channel: z.string(),
  deleted_ts: z.string(),
  previous_message: messageSchema.optional().catch(undefined),
});

/** Of what people say; all others are Slack's own lines about a conversation, or changes of messages. */
const saidSubtypes = new Set([undefined, "bot_message", "file_share", "me_message", "thread_broadcast"]);

export function isSaid({ subtype }: RawMessage): boolean {
  return saidSubtypes.has(subtype);
}
