/** The note, in standard Markdown, about a file that could not be attached. */
import { asCode } from "../../lib/text/sanitize.ts";

const maxNameLength = 200;

export function attachmentNote(name: string, why: string): string {
  return `⚠️ I couldn't attach the file ${asCode(name, maxNameLength)}: ${why}`;
}
