/**
 * Makes Slack's text readable, and removes a leading mention of the agent:
 *
 *   <@U1> what about <#C1|general>?   →   what about #general (C1)?
 *   <https://x.dev|the page> &amp; …  →   the page (https://x.dev) & …
 */
import { unescapeText } from "../outbound/safe-text.ts";

export interface TextReader {
  /** A mention of the agent in front is left out. */
  botUserId?: string;
  nameOf(userId: string): Promise<string>;
}

const sequence = /<([^<>\n]+)>/g;
const mark = /<((?:@[UW][A-Z0-9]|#[CDG][A-Z0-9]|![a-z]|https?:\/\/|mailto:)[^<>\n]*)>/g;
/** If a message mentions more people than this, the rest are left as ids. */
const maxNames = 20;

export async function readText(text: string, { botUserId, nameOf }: TextReader): Promise<string> {
  const leading = new RegExp(`^\\s*<@${botUserId}(?:\\|[^<>]*)?>[,:]?[^\\S\\n]*`);
  const said = botUserId === undefined ? text : text.replace(leading, "");
  const names = await namesIn(said, nameOf);
  const readable = said.replace(sequence, (_whole, body: string) => shown(body, names));
  return unescapeText(readable).trim();
}

/** Converts only Slack's own markup. The text's entities must already be decoded. */
export async function readMarks(text: string, nameOf: TextReader["nameOf"]): Promise<string> {
  const names = await namesIn(text, nameOf);
  return text.replace(mark, (_whole, body: string) => unescapeText(shown(body, names)));
}

async function namesIn(text: string, nameOf: TextReader["nameOf"]): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set([...text.matchAll(/<@([UW][A-Z0-9]+)/g)].map(([, id = ""]) => id))].slice(0, maxNames);
  return new Map(await Promise.all(ids.map(async (id) => [id, await nameOf(id).catch(() => id)] as const)));
}

export function mentions(text: string, userId: string): boolean {
  return new RegExp(`<@${userId}(?:\\||>)`).test(text);
}

function shown(body: string, names: ReadonlyMap<string, string>): string {
  const bar = body.indexOf("|");
  const [target, label] = bar === -1 ? [body, ""] : [body.slice(0, bar), body.slice(bar + 1)];
  const id = target.slice(1);
  if (/^@[UW][A-Z0-9]+$/.test(target)) return withId(`@${escaped(names.get(id) ?? label)}`, id);
  if (/^#[CDG][A-Z0-9]+$/.test(target)) return withId(`#${label}`, id);
  if (target.startsWith("!")) return special(target, label);
  if (label === "" || label === target || `mailto:${label}` === target) return target.replace(/^mailto:/, "");
  return `${label} (${target})`;
}

/** Escapes a name, because it is unescaped later with the other text. */
function escaped(name: string): string {
  return name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function withId(name: string, id: string): string {
  return name.length <= 1 || name.slice(1) === id ? `${name[0]}${id}` : `${name} (${id})`;
}

function special(target: string, label: string): string {
  const [, groupId] = /^!subteam\^(S[A-Z0-9]+)$/.exec(target) ?? [];
  if (groupId !== undefined) return withId(label === "" ? "@" : label, groupId);
  if (/^!(?:here|channel|everyone|group)$/.test(target)) return `@${target.slice(1)}`;
  return label === "" ? target.slice(1) : label;
}
