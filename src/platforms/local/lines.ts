/** Converts messages of the local chat to lines for tools and the model. */
import type { ChatLine } from "../../ports/chat.ts";
import type { StoredMessage } from "./chat-message.ts";

export function isSaid({ type, isDeleted, state }: StoredMessage): boolean {
  return type === "message" && !isDeleted && state !== "streaming";
}

export function lineOf({ id, author, text, at, files }: StoredMessage): ChatLine {
  return {
    id,
    author: { id: author.id, name: author.name, isBot: author.isBot, roles: [] },
    text,
    at,
    files: files.map((file) => file.name),
  };
}
