/** What people said in channels, for full-text search. Never contains DMs, group DMs or private threads. */
import { z } from "zod";
import type { InboundMessage } from "./message.ts";

export interface LoggedMessage {
  platform: string;
  id: string;
  /** As in `ChatActions.channels`. */
  channelId: string;
  author: { id: string; name: string };
  text: string;
  at: number;
  /** A link to the message, for people. */
  link: string;
}

/** The methods return at once and never throw. The log changes shortly afterwards, in the order of the calls. */
export interface ChatLog {
  add(message: InboundMessage): void;
  /** Has no effect on messages that are not in the log. */
  edit(platform: string, messageId: string, text: string): void;
  remove(platform: string, messageId: string): void;
}

/** Whose messages are forgotten. */
export type ChatLogOwner = { platform: string; userId: string } | { platform: string; channelId: string };

export const chatLogChangeSchema = z.discriminatedUnion("type", [
  z.object({
    ...{ type: z.literal("add"), platform: z.string(), id: z.string(), channelId: z.string(), authorId: z.string() },
    ...{ authorName: z.string(), text: z.string(), at: z.number(), link: z.string() },
  }),
  z.object({ type: z.literal("edit"), platform: z.string(), id: z.string(), text: z.string() }),
  z.object({ type: z.literal("remove"), platform: z.string(), id: z.string(), at: z.number() }),
  z.object({ type: z.literal("name"), platform: z.string(), id: z.string(), name: z.string() }),
  z.object({
    type: z.literal("forget"),
    owner: z.union([
      z.object({ platform: z.string(), userId: z.string() }),
      z.object({ platform: z.string(), channelId: z.string() }),
    ]),
  }),
]);

/** A change to the log, in the order in which it happened. */
export type ChatLogChange = z.infer<typeof chatLogChangeSchema>;
