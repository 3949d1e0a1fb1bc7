/** Schemas for the parts of Slack's events and histories that Remora uses. */
import { z } from "zod";

/** Slack sometimes leaves out an absent value and sometimes sends null. A value of another type counts as absent. */
const word = z.string().optional().catch(undefined);
/** As a number, it has lost the zeros at its end. */
const timestamp = z
  .union([z.string(), z.number().transform((seconds) => seconds.toFixed(6))])
  .refine((ts) => /^\d{1,12}\.\d{1,6}$/.test(ts));
const thread = timestamp.optional().catch(undefined);

/** What shown-markup.ts reads may be of any type. */
export const messageSchema = z.object({
  type: word,
  subtype: word,
  user: word,
  username: word,
  bot_id: word,
  bot_profile: z.object({ name: word }).optional().catch(undefined),
  text: z.unknown().optional(),
  ts: timestamp,
  thread_ts: thread,
  latest_reply: thread,
  edited: z.object({ ts: timestamp }).optional().catch(undefined),
  reply_count: z.number().optional().catch(undefined),
  files: z.unknown().optional(),
  blocks: z.unknown().optional(),
  attachments: z.unknown().optional(),
});
export type RawMessage = z.infer<typeof messageSchema>;

const entitySchema = z.object({
  type: z.string(),
  value: z.union([z.string(), z.object({ channel_id: z.string() }).transform((message) => message.channel_id)]),
  team_id: word,
});
/** What a DM's author has open beside it, most relevant first: https://docs.slack.dev/reference/events/app_context_changed */
const contextSchema = z.object({
  entities: z.array(z.unknown()).transform((all) => all.flatMap((each) => entitySchema.safeParse(each).data ?? [])),
});

export const messageEventSchema = messageSchema.extend({
  channel: z.string(),
  channel_type: word,
  app_context: contextSchema.optional().catch(undefined),
  /** With the token, the app may search as the person who wrote the message. */
  assistant_thread: z.object({ action_token: word }).optional().catch(undefined),
});
export type MessageEvent = z.infer<typeof messageEventSchema>;

const channelEntities: readonly string[] = ["slack#/types/channel_id", "slack#/types/message_context"];

/** The id of the channel that the author looks at, if it is one of this workspace. */
export function lookingAt({ app_context: context }: MessageEvent, teamId: string): string | undefined {
  const channel = context?.entities.find(({ type }) => channelEntities.includes(type));
  return channel?.team_id === undefined || channel.team_id === teamId ? channel?.value : undefined;
}

export const changedSchema = z.object({
  channel: z.string(),
  message: messageSchema,
  previous_message: messageSchema.optional().catch(undefined),
});

export const deletedSchema = z.object({
  channel: z.string(),
  deleted_ts: z.string(),
  previous_message: messageSchema.optional().catch(undefined),
});

/** Subtypes of messages that people or bots wrote. All others are Slack's own notices, or changes to messages. */
const saidSubtypes = new Set([undefined, "bot_message", "file_share", "me_message", "thread_broadcast"]);

export const messagesSchema = z
  .array(z.unknown())
  .default([])
  .transform((all) => all.flatMap((each) => messageSchema.safeParse(each).data ?? []));

export function isSaid({ subtype }: Pick<RawMessage, "subtype">): boolean {
  return saidSubtypes.has(subtype);
}
