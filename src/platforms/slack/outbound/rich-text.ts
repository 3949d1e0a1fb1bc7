/** Rich text blocks. Slack reads no markup in them, so they can contain any text. */
import type { Block } from "./render.ts";

export interface TextElement {
  type: "text";
  text: string;
  style?: { bold?: true; italic?: true; code?: true };
}

/** https://docs.slack.dev/reference/block-kit/block-elements/date-element */
interface DateElement {
  type: "date";
  /** In seconds. */
  timestamp: number;
  format: string;
  fallback: string;
}

interface ChannelElement {
  type: "channel";
  channel_id: string;
}

/** Mentions notify the people that they name. */
type MentionElement = { type: "user"; user_id: string } | { type: "usergroup"; usergroup_id: string };

interface LinkElement {
  type: "link";
  url: string;
  text: string;
}

export type RichElement = TextElement | DateElement | ChannelElement | MentionElement | LinkElement;

export function plain(text: string): TextElement {
  return { type: "text", text };
}

export function bold(text: string): TextElement {
  return { type: "text", text, style: { bold: true } };
}

export function italic(text: string): TextElement {
  return { type: "text", text, style: { italic: true } };
}

export function code(text: string, weight?: "bold"): TextElement {
  return { type: "text", text, style: { code: true, ...(weight === undefined ? {} : { bold: true }) } };
}

/** A time in each reader's time zone. `format` has Slack's tokens, such as `{time}`. */
export function dateText(at: number, format: string): DateElement {
  const fallback = `${new Date(at).toISOString().slice(11, 16)} UTC`;
  return { type: "date", timestamp: Math.floor(at / 1000), format, fallback };
}

export function channelLink(id: string): ChannelElement {
  return { type: "channel", channel_id: id };
}

/** Drops empty texts, because Slack refuses them. */
export function richText(elements: RichElement[]): Block {
  const filled = elements.filter((element) => element.type !== "text" || element.text !== "");
  return { type: "rich_text", elements: [{ type: "rich_text_section", elements: filled }] };
}

export function quote(head: RichElement, text: string): Block {
  const said = { type: "rich_text_quote", elements: [plain(text)] };
  return { type: "rich_text", elements: [{ type: "rich_text_section", elements: [head] }, said] };
}

export function preformatted(text: string): Block {
  return { type: "rich_text", elements: [{ type: "rich_text_preformatted", elements: [plain(text || " ")] }] };
}
