/**
 * The one place that makes and reads conversation ids of the local platform:
 *
 *   local:dm:<person>                           the private session of a person with the agent
 *   local:channel:<channel>:<message>           the thread that a message opened
 *   local:channel:<channel>                     the channel itself, for commands and posts that answer nobody
 *
 * Parts are percent-encoded, so that a name with a colon can't pass for two parts.
 */
import type { Scope } from "../../ports/message.ts";

export type LocalConversation =
  | { type: "dm"; person: string }
  /** `thread` is the id of the message that opened it; null: the channel itself. */
  | { type: "channel"; channel: string; thread: string | null };

export function formatConversationId(conversation: LocalConversation): string {
  if (conversation.type === "dm") return `local:dm:${encodeURIComponent(conversation.person)}`;
  const channel = `local:channel:${encodeURIComponent(conversation.channel)}`;
  return conversation.thread === null ? channel : `${channel}:${encodeURIComponent(conversation.thread)}`;
}

/** Undefined for anything that `formatConversationId` does not make. */
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

/** Who can see it: a thread has its channel's scope. */
export function scopeOf(conversation: LocalConversation): Scope {
  return conversation.type === "dm" ? `dm:${conversation.person}` : `channel:${conversation.channel}`;
}

/** The conversation that a message in this place and thread belongs to. */
export function conversationOf(place: Scope, thread: string | null): LocalConversation {
  const name = place.slice(place.indexOf(":") + 1);
  return place.startsWith("dm:") ? { type: "dm", person: name } : { type: "channel", channel: name, thread };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
