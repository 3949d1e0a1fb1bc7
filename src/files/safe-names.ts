/** Makes safe names for saved files, because people choose the names, and commands, cards and the prompt use them. */
import { createHash } from "node:crypto";
import { fileNameOf } from "../lib/file-name.ts";
import type { Attachment, InboundMessage } from "../ports/message.ts";
import { maxNameBytes, maxNameCharacters } from "./limits.ts";

export const inboxFolder = "inbox";

const invisible = /[\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;
/** All but letters, digits and a few signs, because others may be special to shells, prompts or file systems. */
const unusual = /[^\p{L}\p{M}\p{N} ._+,()[\]@=-]/gu;
/** A hidden file could be run or read by programs without anybody noticing; a dash could be read as an option. */
const hiddenOrOption = /^[ .-]+/;
const reservedOnWindows = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;
const maxExtensionCharacters = 16;

/** Three digits are a token, and the path is in the prompt. An inbox has a few hundred folders at most (limits.ts). */
const folderDigits = 12;

/** The name of the message's folder in `inbox/`. */
export function messageFolder({ platform, id }: Pick<InboundMessage, "platform" | "id">): string {
  const hash = createHash("sha256").update(`${platform}-${id}`).digest("hex");
  return String(BigInt(`0x${hash}`)).slice(-folderDigits);
}

/** How earlier versions named it. What they have saved stays where it is. */
export function earlierMessageFolder({ platform, id }: Pick<InboundMessage, "platform" | "id">): string {
  return fileNameOf(`${platform}-${id}`);
}

/** Returns names for a message's files, in the order of the attachments. All differ, even if case is ignored. */
export function fileNames(attachments: readonly Pick<Attachment, "name">[]): string[] {
  const used = new Set<string>();
  return attachments.map(({ name }) => {
    const safe = safeFileName(name);
    let free = safe;
    for (let number = 2; used.has(foldedName(free)); number++) free = shortened(safe, `-${number}`);
    used.add(foldedName(free));
    return free;
  });
}

export function safeFileName(name: string): string {
  const visible = name
    .slice(0, maxNameCharacters * 20)
    .toWellFormed()
    .replace(/\s+/g, " ")
    .replace(invisible, "")
    .normalize("NFC")
    .replace(unusual, "_");
  const clean = visible
    .replace(/ +/g, " ")
    .replace(hiddenOrOption, "_")
    .replace(/[ .]+$/, "");
  const named = clean.replace(/^_+$/, "") === "" ? "file" : clean;
  return shortened(reservedOnWindows.test(named) ? `_${named}` : named, "");
}

/** Inserts `suffix` before the extension, and shortens the part before it until the name fits. */
function shortened(name: string, suffix: string): string {
  const [extension = ""] = /\.[^. ]+$/.exec(name) ?? [];
  const kept = extension.length <= maxExtensionCharacters && extension.length < name.length ? extension : "";
  const stem = Array.from(name.slice(0, name.length - kept.length));
  const fits = (text: string) => text.length <= maxNameCharacters && Buffer.byteLength(text) <= maxNameBytes;
  const whole = () => `${stem.join("").replace(/[ .]+$/, "")}${suffix}${kept}`;
  while (!fits(whole())) stem.pop();
  return whole();
}

function foldedName(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}
