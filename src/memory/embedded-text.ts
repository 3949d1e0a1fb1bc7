/** Returns the text to embed for a passage, and the key of its vector. */
import { hash } from "node:crypto";

export function embeddedText({ heading, text }: { heading: string; text: string }): string {
  // Omit an entry's clock time, which adds no meaning, so that a repeated answer is embedded only once.
  const subject = heading.replace(/^\d\d:\d\d(?::\d\d)?(?: — )?/, "");
  return `${subject}\n${text}`.trim();
}

/** Equal texts share a vector. */
export function vectorKeyOf(passage: { heading: string; text: string }): string {
  return hash("sha256", embeddedText(passage), "base64").slice(0, 24);
}
