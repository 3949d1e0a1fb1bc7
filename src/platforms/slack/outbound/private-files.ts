/** Sends a file that only one person sees: in their DM, because Slack shows a file to everybody in a channel. */
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { ReceiptFile } from "../../../ports/message.ts";
import type { SlackApi } from "../api/api.ts";
import { plainOf } from "../api/api-problems.ts";
import { openDirectMessages } from "../api/direct-message.ts";
import { isDirect } from "../conversation-id.ts";
import type { Recipient } from "./ephemeral-reply.ts";
import { shareFiles, uploadFile } from "./files-out.ts";

/** Resolves to a sentence that says where the file is, or why there is none. Never rejects. */
export type SendPrivateFile = (recipient: Recipient, file: ReceiptFile) => Promise<string>;

export function createPrivateFiles({ api, log }: { api: SlackApi; log: Log }): SendPrivateFile {
  async function send(
    { userId, channel, thread }: Recipient,
    { name, text }: ReceiptFile,
  ): Promise<string | undefined> {
    try {
      const place = isDirect(channel)
        ? { channel, thread }
        : { channel: await openDirectMessages(api, userId), thread: null };
      // Slack refuses empty files.
      const file = await uploadFile(api, { name, bytes: Buffer.from(text || "\n") });
      await shareFiles(api, place, [file]);
      return undefined;
    } catch (thrown) {
      log.warn({ person: userId, error: messageOf(thrown) }, "could not send a file to a person");
      return `I couldn't send it to you as a file: ${plainOf(thrown)}`;
    }
  }

  return async (recipient, file) => {
    const problem = await send(recipient, file);
    await file.delivered?.(problem === undefined);
    return problem ?? `I sent you all of it as the file ${file.name} in our direct messages.`;
  };
}
