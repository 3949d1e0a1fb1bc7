/** Opens a file of a message as a turn does. */
import { buffer } from "node:stream/consumers";
import { messageOf } from "../../src/lib/errors.ts";
import type { Attachment } from "../../src/ports/message.ts";
import type { Platform } from "../../src/ports/platform.ts";

export async function openedFile({ openFile }: Platform, attachment: Attachment | undefined): Promise<Buffer> {
  if (openFile === undefined || attachment === undefined) throw new Error("there is no such file");
  return await buffer(await openFile(attachment, new AbortController().signal));
}

/** The content as text, or the reason why there is none. */
export async function openedText(platform: Platform, attachment: Attachment | undefined): Promise<string> {
  return await openedFile(platform, attachment).then((content) => content.toString(), messageOf);
}
