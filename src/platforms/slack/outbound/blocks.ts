/** Plain text, buttons and modals. Slack reads no markup in plain text, so it can contain any text. */
import type { View } from "../api/views.ts";
import { maxButtonLabelLength, maxViewTitleLength } from "../limits.ts";
import type { Block } from "./render.ts";
import { beginningOf } from "./safe-text.ts";

export function plainText(text: string) {
  return { type: "plain_text", text, emoji: false };
}

/** A small grey line. */
export function smallLine(text: string): Block {
  return { type: "context", elements: [plainText(text)] };
}

export function button(label: string, action: string, value?: string, style?: "primary" | "danger"): Block {
  return {
    type: "button",
    action_id: action,
    text: plainText(beginningOf(label, maxButtonLabelLength)),
    ...(value === undefined ? {} : { value }),
    ...(style === undefined ? {} : { style }),
  };
}

export function modal(title: string, blocks: Block[], close = "Close"): View {
  return { type: "modal", title: plainText(beginningOf(title, maxViewTitleLength)), close: plainText(close), blocks };
}
