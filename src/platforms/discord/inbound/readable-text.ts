/** Replaces Discord's mentions with names and ids: `@Ann (<@1>)`. */
import { shorten } from "../../../lib/text/shorten.ts";

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

export function readableText(text: string, names: Names): string {
  const named = (mark: string, name: string | undefined, whole: string) =>
    name === undefined ? whole : `${mark}${shorten(name, 100)} (${whole})`;
  return text
    .replace(/<@!?(\d+)>/g, (_whole, id: string) => named("@", names.user(id), `<@${id}>`))
    .replace(/<@&(\d+)>/g, (whole, id: string) => named("@", names.role(id), whole))
    .replace(/<#(\d+)>/g, (whole, id: string) => named("#", names.channel(id), whole))
    .replace(/<a?(:\w{2,32}:)\d+>/g, "$1");
}
