/** Builds the messages that the chat stores and the inbound messages that the agent receives. */
import { randomUUID } from "node:crypto";
import type { Attachment, Author, InboundMessage } from "../../ports/message.ts";
import { type ChatFile, type ChatMessage, chatMessage, type Person, type StoredMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { conversationOf, formatConversationId, messageLink } from "./conversation-id.ts";
import { withoutMention } from "./mention.ts";

/** A file in the request itself, or a previous upload. */
export type SentFile = { name: string; mimeType: string; content: Uint8Array } | { upload: ChatFile };

export function authorOf(person: Person): Author {
  return { id: person.id, name: person.name, isBot: false, roles: [] };
}

export function receiptFor(
  said: Pick<ChatMessage, "place" | "thread" | "text"> & { onlyFor?: string; command?: string },
): ChatMessage {
  return chatMessage({ ...said, id: randomUUID(), type: "receipt" });
}

export function keepFiles(store: ChatStore, messageId: string, files: SentFile[]): ChatFile[] {
  return files.map((sent, index) => {
    if ("upload" in sent) return sent.upload;
    const { name, mimeType, content } = sent;
    const file: ChatFile = { id: `${messageId}.${index}`, name, mimeType, bytes: content.byteLength };
    store.files.save(file, content);
    return file;
  });
}

export function attachmentsOf(files: readonly ChatFile[]): Attachment[] {
  return files.map(({ id: file, name, mimeType, bytes }) => ({ name, mimeType, bytes, source: { file } }));
}

export function inboundOf(message: StoredMessage): InboundMessage {
  const { id, place, at, isAddressed } = message;
  // A message outside threads starts a thread.
  const conversation = conversationOf(place, message.thread ?? id);
  return {
    id,
    platform: "local",
    conversationId: formatConversationId(conversation),
    scope: place,
    author: authorOf(message.author),
    text: withoutMention(message.text),
    attachments: attachmentsOf(message.files),
    isAddressed,
    isDirect: conversation.type === "dm",
    ...(message.thread === null ? {} : { isInThread: true }),
    ...(conversation.type === "dm" ? {} : { link: messageLink(conversation.channel, message.thread ?? id) }),
    at,
  };
}

export function storableMessage(stored: StoredMessage): ChatMessage {
  const { sequence: _s, revision: _r, replies: _c, lastReplyAt: _l, waitingCards: _w, ...message } = stored;
  return message;
}
