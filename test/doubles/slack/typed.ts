/**
 * What Slack makes of what a person types: `&`, `<` and `>` escaped, `@Name`, `#channel`, `@group`, `@here` and addresses
 * turned into markup; not inside of code. And the rich_text block that every message of a person carries.
 */
import type { SlackState } from "./state.ts";
import { escapeText, type JsonObject, outsideCode, unescapeText } from "./wire.ts";

export function typedText(state: SlackState, text: string): string {
  return outsideCode(text, (part, isCode) => (isCode ? escapeText(part) : withMarkup(state, escapeText(part))));
}

function withMarkup(state: SlackState, text: string): string {
  const names = new Map<string, string>();
  for (const person of state.people.values()) {
    names.set(`@${person.displayName}`, `<@${person.id}>`);
    names.set(`@${person.name}`, `<@${person.id}>`);
  }
  for (const group of state.groups.values()) names.set(`@${group.handle}`, `<!subteam^${group.id}|@${group.handle}>`);
  for (const channel of state.channels.values()) {
    if (channel.name !== "") names.set(`#${channel.name}`, `<#${channel.id}|${channel.name}>`);
  }
  for (const range of ["here", "channel", "everyone"]) names.set(`@${range}`, `<!${range}>`);
  const pattern = [...names.keys()]
    .sort((one, other) => other.length - one.length)
    .map(asPattern)
    .join("|");
  const token = new RegExp(`(https?://[^\\s<>]+)|(${pattern})(?![\\w-])`, "g");
  return text.replace(token, (whole, url: string | undefined) =>
    url === undefined ? (names.get(whole) ?? whole) : `<${url}>`,
  );
}

function asPattern(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\-]/g, "\\$&");
}

/** As the composer makes it, mentions and links as elements of their own. */
export function richText(text: string): JsonObject {
  const elements: JsonObject[] = text
    .split(/(<[^<>\n]+>)/)
    .filter((part) => part !== "")
    .map((part) => elementOf(part));
  return { type: "rich_text", block_id: "said", elements: [{ type: "rich_text_section", elements }] };
}

function elementOf(part: string): JsonObject {
  const [, mark, body = ""] = /^<([@#!]?)([^|>]+)(?:\|[^>]*)?>$/.exec(part) ?? [];
  if (mark === undefined) return { type: "text", text: unescapeText(part) };
  if (mark === "@") return { type: "user", user_id: body };
  if (mark === "#") return { type: "channel", channel_id: body };
  if (mark === "") return { type: "link", url: unescapeText(body) };
  if (body.startsWith("subteam^")) return { type: "usergroup", usergroup_id: body.slice("subteam^".length) };
  return { type: "broadcast", range: body };
}
