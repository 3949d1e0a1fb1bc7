/**
 * The only code that formats and parses local conversation ids. Parts are percent-encoded, so a colon in a name is never taken for a separator.
 *
 *   local:dm:<person>                           a person's private conversation with the agent
 *   local:channel:<channel>:<message>           the thread that a message started
 *   local:channel:<channel>                     the channel itself, for commands and unprompted posts
 */
import type { Scope } from "../../ports/message.ts";

export type LocalConversation =
  | { type: "dm"; person: string }
  | { type: "channel"; channel: string; thread: string | null };

export function formatConversationId(conversation: LocalConversation): string {
  if (conversation.type === "dm") return `local:dm:${encodeURIComponent(conversation.person)}`;
  const channel = `local:channel:${encodeURIComponent(conversation.channel)}`;
  return conversation.thread === null ? channel : `${channel}:${encodeURIComponent(conversation.thread)}`;
}

export function parseConversationId(id: string): LocalConversation | undefined {
  const [platform, type, ...encoded] = id.split(":");
  const [name, thread, ...rest] = encoded.map(decoded);
  if (platform !== "local" || rest.length > 0 || !name || thread === "") return undefined;
  const conversation = madeOf(type, name, thread);
  return conversation !== undefined && formatConversationId(conversation) === id ? conversation : undefined;
}

function madeOf(type: string | undefined, name: string, thread: string | undefined): LocalConversation | undefined {
  if (type === "dm" && thread === undefined) return { type, person: name };
  return type === "channel" ? { type, channel: name, thread: thread ?? null } : undefined;
}

/** Opens the thread on the page (page/main.js). */
export function messageLink(channel: string, thread: string): string {
  return `#/${encodeURIComponent(channel)}/${encodeURIComponent(thread)}`;
}

export function scopeOf(conversation: LocalConversation): Scope {
  return conversation.type === "dm" ? `dm:${conversation.person}` : `channel:${conversation.channel}`;
}

export function conversationOf(place: Scope, thread: string | null): LocalConversation {
  const name = place.slice(place.indexOf(":") + 1);
  return place.startsWith("dm:") ? { type: "dm", person: name } : { type: "channel", channel: name, thread };
}

/** Empty if the text is not valid percent-encoding. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
