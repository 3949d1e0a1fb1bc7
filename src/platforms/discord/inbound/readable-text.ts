/** Replaces Discord's mentions with names and ids: `@Ann (<@1>)`. */
import type { APIMessage } from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import { personName } from "../api/people.ts";
import { fieldsOf, listOf } from "./fields.ts";
import { userIn } from "./raw-message.ts";

export interface Names {
  user(id: string): string | undefined;
  role(id: string): string | undefined;
  channel(id: string): string | undefined;
}

/** `ownIds` are the ids of the bot and of its role. */
export function withoutLeadingMention(text: string, ownIds: readonly string[]): string {
  return text.replace(new RegExp(String.raw`^\s*(?:<@[!&]?(?:${ownIds.join("|")})>[,:]?\s*)+`), "");
}

export function leadingMention(text: string): string | undefined {
  return /^\s*<@!?(\d+)>/.exec(text)?.[1];
}

export function idsIn(text: string): { users: string[]; roles: string[]; channels: string[] } {
  const all = (pattern: RegExp) => [...new Set(Array.from(text.matchAll(pattern), ([, id]) => id ?? ""))];
  return { users: all(/<@!?(\d+)>/g), roles: all(/<@&(\d+)>/g), channels: all(/<#(\d+)>/g) };
}

/** The names of those whom the message, and what it quotes or forwards, mentions. */
export function namesIn(message: APIMessage): Names {
  const holders = [
    message,
    ...listOf(message.message_snapshots).map((each) => fieldsOf(each)?.message),
    message.referenced_message,
  ];
  const users = holders.flatMap((holder) => listOf(fieldsOf(holder)?.mentions).flatMap((user) => userIn(user) ?? []));
  const names = new Map(users.map((user) => [user.id, personName(user, memberIn(user))]));
  return { user: (id) => names.get(id), role: () => undefined, channel: () => undefined };
}

/** Messages from the gateway include the server membership of mentioned users. */
function memberIn(user: object): { nick?: string | null } | undefined {
  return "member" in user ? (user.member as { nick?: string | null }) : undefined;
}

/** Discord shows each reader the time of their zone. */
function timeText(whole: string, seconds: string): string {
  const date = new Date(Number(seconds) * 1_000);
  return Number.isNaN(date.getTime()) ? whole : `${date.toISOString().slice(0, 16)}Z`;
}

export function readableText(text: string, names: Names): string {
  const named = (mark: string, name: string | undefined, whole: string) =>
    name === undefined ? whole : `${mark}${shorten(name, 100)} (${whole})`;
  return text
    .replace(/<@!?(\d+)>/g, (_whole, id: string) => named("@", names.user(id), `<@${id}>`))
    .replace(/<@&(\d+)>/g, (whole, id: string) => named("@", names.role(id), whole))
    .replace(/<#(\d+)>/g, (whole, id: string) => named("#", names.channel(id), whole))
    .replace(/<a?(:\w{2,32}:)\d+>/g, "$1")
    .replace(/<t:(-?\d{1,13})(?::[a-zA-Z])?>/g, timeText)
    .replace(/<\/([^:<>\n]{1,100}):\d+>/g, "/$1");
}
