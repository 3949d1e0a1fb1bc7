/** The text of a passage that is embedded, and the key of its vector. */
import { hash } from "node:crypto";

export function embeddedText({ heading, text }: { heading: string; text: string }): string {
  // An entry's clock time says nothing about its meaning. Without it, a repeated answer is embedded once.
  const subject = heading.replace(/^\d\d:\d\d(?::\d\d)?(?: — )?/, "");
  return `${subject}\n${text}`.trim();
}

/** Equal texts share a vector. */
export function vectorKeyOf(passage: { heading: string; text: string }): string {
  return hash("sha256", embeddedText(passage), "base64").slice(0, 24);
}
