/**
 * What Slack would make of markup in a message: who is notified, what becomes a link, what is unfurled.
 *
 * `<!channel>`, `<!subteam^S…>`, `<@U…>`, `<#C…>` and `<https://…|words>` form wherever they stand in `text`, in mrkdwn and
 * in markdown blocks, in code as well; `&lt;` keeps them from it, and nothing else does (measured for markdown blocks:
 * PostHog/posthog#95054). Where nobody measured, this file takes the worse case: no backslash helps, and `text` counts
 * beside blocks too, because it is what notifications show. Plain text forms nothing.
 *
 * Slack's servers fetch every address of a message, unless both `unfurl_links` and `unfurl_media` are false when it is posted
 * (slackhq/slack-api-docs, page_unfurling.md). An edit fetches nothing else than the post allows (NousResearch/hermes-agent#97957).
 * Streams have no such argument (slackapi/node-slack-sdk#2389), so here every address in one is fetched.
 * Rule: markup-notifies-in-code
 */
import { Lexer, type Token, type Tokens } from "marked";
import type { StoredMessage } from "./state.ts";
import { isObject, type JsonObject, objectsIn, unescapeText } from "./wire.ts";

export type Effect =
  /** Everybody is notified: `here`, `channel`, `everyone`. */
  | { type: "broadcast"; range: string; where: Where }
  | { type: "user"; id: string; where: Where }
  | { type: "group"; id: string; where: Where }
  | { type: "channel"; id: string; where: Where }
  /** `label` is absent where the address shows itself. */
  | { type: "link"; url: string; label?: string; where: Where }
  /** A preview of the address appears below the message. */
  | { type: "unfurl"; url: string };

type Where = "text" | "mrkdwn" | "markdown" | "rich_text" | "attachment";

export function effectsOf(message: StoredMessage): Effect[] {
  const effects = [
    ...mrkdwnEffects(message.text, "text", message.parse.full),
    ...message.blocks.flatMap(blockEffects),
    ...message.attachments.flatMap((attachment) =>
      ["pretext", "text", "title", "fallback"].flatMap((field) =>
        mrkdwnEffects(String(attachment[field] ?? ""), "attachment", false),
      ),
    ),
  ];
  const urls = new Set(effects.flatMap((effect) => (effect.type === "link" ? [effect.url] : [])));
  return [...effects, ...unfurls(message, [...urls])];
}

const media = /\.(png|jpe?g|gif|webp|mp4|mov|mp3)(\?|#|$)|^https?:\/\/(www\.)?(youtube\.com|youtu\.be|vimeo\.com)\//i;

function unfurls(message: StoredMessage, urls: string[]): Effect[] {
  if (message.onlyFor !== undefined) return [];
  return urls
    .filter((url) => /^https?:/.test(url))
    .filter((url) => (media.test(url) ? message.parse.unfurlMedia : message.parse.unfurlLinks))
    .map((url) => ({ type: "unfurl", url }));
}

function blockEffects(block: JsonObject): Effect[] {
  if (block.type === "markdown") return markdownEffects(String(block.text));
  return nestedEffects(block);
}

function nestedEffects(value: JsonObject): Effect[] {
  if (value.type === "mrkdwn") return mrkdwnEffects(String(value.text), "mrkdwn", false);
  if (value.type === "plain_text") return [];
  const own = [...richEffect(value), ...taskEffects(value)];
  return [
    ...own,
    ...Object.values(value).flatMap((item) =>
      Array.isArray(item) ? objectsIn(item.flat()).flatMap(nestedEffects) : isObject(item) ? nestedEffects(item) : [],
    ),
  ];
}

/** What a stream shows of an app's work. No page says how Slack reads these texts. */
function taskEffects(block: JsonObject): Effect[] {
  if (block.type !== "plan" && block.type !== "task_card") return [];
  const texts = [block.title, block.details, block.output];
  return texts.flatMap((text) => (typeof text === "string" ? mrkdwnEffects(text, "mrkdwn", false) : []));
}

function richEffect(element: JsonObject): Effect[] {
  switch (element.type) {
    case "user":
      return [{ type: "user", id: String(element.user_id), where: "rich_text" }];
    case "usergroup":
      return [{ type: "group", id: String(element.usergroup_id), where: "rich_text" }];
    case "channel":
      return [{ type: "channel", id: String(element.channel_id), where: "rich_text" }];
    case "broadcast":
      return [{ type: "broadcast", range: String(element.range), where: "rich_text" }];
    case "link":
      return [link(String(element.url), typeof element.text === "string" ? element.text : undefined, "rich_text")];
    default:
      return [];
  }
}

function link(url: string, label: string | undefined, where: Where): Effect {
  return label === undefined || label === url ? { type: "link", url, where } : { type: "link", url, label, where };
}

/** Angle brackets in mrkdwn, and bare addresses; with `parse: full` bare names too. */
function mrkdwnEffects(text: string, where: Where, isFull: boolean): Effect[] {
  const effects: Effect[] = [];
  const rest = text.replace(/<([^<>]*)>/g, (_whole, body: string) => {
    effects.push(...bracketEffect(body, where));
    return " ";
  });
  for (const [url] of rest.matchAll(/https?:\/\/[^\s<>|`*_~)\]]+/g))
    effects.push(link(unescapeText(url), undefined, where));
  if (isFull) {
    for (const [, range = ""] of rest.matchAll(/@(here|channel|everyone)\b/g))
      effects.push({ type: "broadcast", range, where });
  }
  return effects;
}

function bracketEffect(body: string, where: Where): Effect[] {
  const [target = "", label] = body.split("|", 2);
  if (/^@[UW][A-Z0-9]+$/.test(target)) return [{ type: "user", id: target.slice(1), where }];
  if (/^#[CDG][A-Z0-9]+$/.test(target)) return [{ type: "channel", id: target.slice(1), where }];
  const group = /^!subteam\^(S[A-Z0-9]+)$/.exec(target);
  if (group?.[1] !== undefined) return [{ type: "group", id: group[1], where }];
  const range = /^!(here|channel|everyone|group)$/.exec(target);
  if (range?.[1] !== undefined) return [{ type: "broadcast", range: range[1], where }];
  if (/^(https?|mailto|tel):/i.test(target)) return [link(unescapeText(target), label, where)];
  return [];
}

/** Slack's own tokens first, as Slack reads them; then the links that a Markdown reader finds in what is left. */
function markdownEffects(text: string): Effect[] {
  const effects: Effect[] = [];
  const rest = text.replace(/<([^<>]*)>/g, (_whole, body: string) => {
    effects.push(...bracketEffect(body, "markdown"));
    return " ";
  });
  return [...effects, ...new Lexer({ gfm: true }).lex(rest).flatMap(linksIn)];
}

function linksIn(token: Token): Effect[] {
  switch (token.type) {
    case "image":
    case "link": {
      const { href, text } = token as Tokens.Link;
      return [link(href, text, "markdown")];
    }
    // Rule: streams-show-tables
    case "table": {
      const table = token as Tokens.Table;
      return [...table.header, ...table.rows.flat()].flatMap((cell) => cell.tokens.flatMap(linksIn));
    }
    case "list":
      return (token as Tokens.List).items.flatMap((item) => item.tokens.flatMap(linksIn));
    default:
      return "tokens" in token && token.tokens !== undefined ? token.tokens.flatMap(linksIn) : [];
  }
}
