/** The title of a session, from the question that begins it. */
import { asPlain } from "../../../lib/text/sanitize.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { InboundMessage } from "../../../ports/message.ts";

const maxTitleLength = 60;

/** Everybody who sees the thread sees the title, so it names no channels, which may be private, and no addresses. */
export function sessionTitle({ text }: Pick<InboundMessage, "text">): string {
  const words = asPlain(text.replace(/\s+/g, " "))
    .replace(/#\S+ \([CDG][A-Z0-9]{5,}\)|#[CDG][A-Z0-9]{5,}/g, "#…")
    .replace(/ \([A-Z][A-Z0-9]{6,}\)/g, "")
    .replace(/ ?\(https?:[^\s)]*\)/g, "")
    .replace(/https?:\/\/\S+/g, "…")
    // Slack turns colons into underscores.
    .replace(/: /g, " – ")
    .replaceAll(":", ".")
    .replace(/\s+/g, " ");
  return shorten(words.trim(), maxTitleLength);
}
