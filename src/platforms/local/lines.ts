/** Converts messages of the local chat to lines for tools and the model. */
import type { ChatLine } from "../../ports/chat.ts";
import type { PlacedMessage } from "./chat-message.ts";

export function isSaid({ type, isDeleted, state }: PlacedMessage): boolean {
  return type === "message" && !isDeleted && state !== "streaming";
}

export function lineOf({ id, author, text, at, files }: PlacedMessage): ChatLine {
  return {
    id,
    author: { id: author.id, name: author.name, isBot: author.isBot, roles: [] },
    text,
    at,
    files: files.map((file) => file.name),
  };
}
