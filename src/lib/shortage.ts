/**
 * Recognizes what this machine has run out of, in any error, however deep: Node's or SQLite's. A full Redis is something else:
 * it refuses for a while, and messages of that time must be delivered again.
 */
import type { Notice } from "../ports/message.ts";
import { codeOf } from "./errors.ts";

type Shortage = "disk" | "files";

const shortages: Readonly<Record<string, Shortage>> = {
  ENOSPC: "disk",
  EDQUOT: "disk",
  EMFILE: "files",
  ENFILE: "files",
};
/** https://sqlite.org/rescode.html#full */
const sqliteFull = 13;

/** What people read in the chat if the message does not arrive again. */
const diskFullText =
  "My disk is full, so I can't work on this now. Please tell the person who runs me, and send it again later.";
const tooManyFilesText =
  "I have too many files open, so I can't work on this now. Please tell the person who runs me, and send it again later.";

export const diskFullNotice: Notice = {
  text: diskFullText,
  later:
    "My disk is full, so I can't work on this now. I'll answer as soon as there is room again. Please tell the person who runs me.",
};

export function isDiskFull(thrown: unknown): boolean {
  return shortageIn(thrown) === "disk";
}

export function isOutOfFiles(thrown: unknown): boolean {
  return shortageIn(thrown) === "files";
}

/** Says in the chat what the machine lacks. Undefined if the error has another cause. */
export function shortageText(thrown: unknown): string | undefined {
  const shortage = shortageIn(thrown);
  if (shortage === undefined) return undefined;
  return shortage === "disk" ? diskFullText : tooManyFilesText;
}

function shortageIn(thrown: unknown): Shortage | undefined {
  const seen = new Set<unknown>();
  for (let link = thrown; link instanceof Error && !seen.has(link); link = link.cause) {
    const known = shortages[codeOf(link) ?? ""];
    if (known !== undefined) return known;
    if ("errcode" in link && typeof link.errcode === "number" && (link.errcode & 0xff) === sqliteFull) return "disk";
    seen.add(link);
  }
  return undefined;
}
