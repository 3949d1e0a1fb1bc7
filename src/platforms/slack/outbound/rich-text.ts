/** Rich text blocks. Slack reads no markup in them, so they can contain any text. */
import type { Block } from "./render.ts";

export interface TextElement {
  type: "text";
  text: string;
  style?: { bold?: true; italic?: true };
}

export function plain(text: string): TextElement {
  return { type: "text", text };
}

export function bold(text: string): TextElement {
  return { type: "text", text, style: { bold: true } };
}

export function italic(text: string): TextElement {
  return { type: "text", text, style: { italic: true } };
}

/** Drops empty texts, because Slack refuses them. */
export function richText(elements: TextElement[]): Block {
  const filled = elements.filter((element) => element.text !== "");
  return { type: "rich_text", elements: [{ type: "rich_text_section", elements: filled }] };
}

export function preformatted(text: string): Block {
  return { type: "rich_text", elements: [{ type: "rich_text_preformatted", elements: [plain(text || " ")] }] };
}
