/** Converts messages of a history to lines for tools and the model. */
import { type APIMessage, MessageType } from "discord.js";
import type { ChatLine } from "../../../ports/chat.ts";
import { authorOf, personName } from "../api/people.ts";
import { withoutFooter } from "../outbound/footer.ts";
import { filesOf } from "./open-file.ts";
import { askMark } from "./read-message.ts";
import { readableText } from "./readable-text.ts";
import { saidIn } from "./said-text.ts";

export function isWritten({ type }: APIMessage): boolean {
  return type === MessageType.Default || type === MessageType.Reply || type === MessageType.ChatInputCommand;
}

export function lineOf(message: APIMessage): ChatLine {
  const { id, author, content, timestamp, mentions, thread, interaction_metadata } = message;
  const names = new Map(mentions.map((user) => [user.id, personName(user)]));
  const isAsk = content.startsWith(askMark) && interaction_metadata !== undefined;
  const shown = isAsk ? content.slice(askMark.length) : saidIn(message);
  const said = author.bot === true ? withoutFooter(shown) : shown;
  const text = readableText(said, {
    user: (user) => names.get(user),
    role: () => undefined,
    channel: () => undefined,
  });
  const replies = thread !== undefined && "message_count" in thread ? thread.message_count : undefined;
  return {
    id,
    author: authorOf(isAsk ? interaction_metadata.user : author),
    text,
    at: Date.parse(timestamp),
    files: filesOf(message).map(({ filename }) => filename),
    ...(replies === undefined ? {} : { replies }),
  };
}
