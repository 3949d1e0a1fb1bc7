/**
 * Recognizes a full disk of this machine in any error, however deep: Node's or SQLite's. A full Redis is something else:
 * it refuses for a while, and messages of that time must be delivered again.
 */
import type { Notice } from "../ports/message.ts";
import { codeOf } from "./errors.ts";

const fullCodes = new Set(["ENOSPC", "EDQUOT"]);
/** https://sqlite.org/rescode.html#full */
const sqliteFull = 13;

/** What people read in the chat if the message does not arrive again. */
export const diskFullText =
  "My disk is full, so I can't work on this now. Please tell the person who runs me, and send it again later.";

export const diskFullNotice: Notice = {
  text: diskFullText,
  later:
    "My disk is full, so I can't work on this now. I'll answer as soon as there is room again. Please tell the person who runs me.",
};

export function isDiskFull(thrown: unknown): boolean {
  const seen = new Set<unknown>();
  for (let link = thrown; link instanceof Error && !seen.has(link); link = link.cause) {
    if (fullCodes.has(codeOf(link) ?? "")) return true;
    if ("errcode" in link && typeof link.errcode === "number" && (link.errcode & 0xff) === sqliteFull) return true;
    seen.add(link);
  }
  return false;
}
