/** Sends messages that only one person sees. A response URL works everywhere, but only five times. */
import { z } from "zod";
import { fetchDirectly } from "../../../lib/fetch-directly.ts";
import { parseJson } from "../../../lib/json.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { isRefusal, isTokenProblem } from "../api/api-problems.ts";
import { openDirectMessages } from "../api/direct-message.ts";
import { isDirect } from "../conversation-id.ts";
import { maxResponses } from "../limits.ts";
import { shareFiles, uploadFile } from "./files-out.ts";
import { type MessageContent, renderMrkdwn, withoutPreviews } from "./render.ts";
import { richText } from "./rich-text.ts";
import { beginningOf, escapeText } from "./safe-text.ts";

export interface Recipient {
  userId: string;
  channel: string;
  thread: string | null;
  responseUrl?: string;
}

export interface EphemeralReplies {
  plain(recipient: Recipient, text: string): Promise<void>;
  markdown(recipient: Recipient, markdown: string): Promise<void>;
}

const maxRespondMs = 10_000;
const maxPlainLength = 3_000;
const maxNotificationLength = 700;

export function createEphemeralReplies(api: SlackApi): EphemeralReplies {
  async function post(place: { channel: string; thread_ts?: string }, content: MessageContent): Promise<void> {
    await api.call("chat.postMessage", { ...place, ...withoutPreviews, ...content }, anyAnswer, { isOnce: true });
  }

  /** If Slack does not show it where the person is, they get it as a direct message. */
  async function show(recipient: Recipient, content: MessageContent): Promise<void> {
    if (recipient.responseUrl !== undefined && (await respond(recipient.responseUrl, recipient.thread, content)))
      return;
    const { channel, userId: user } = recipient;
    const place = { channel, ...(recipient.thread === null ? {} : { thread_ts: recipient.thread }) };
    if (isDirect(channel)) {
      await post(place, content);
    } else {
      // Seen twice does less harm than not seen.
      await api.call("chat.postEphemeral", { ...place, user, ...content }, anyAnswer).catch(async (thrown: unknown) => {
        if (!isRefusal(thrown) && !isTokenProblem(thrown)) throw thrown;
        await post({ channel: await openDirectMessages(api, user) }, content);
      });
    }
  }

  /** Works only in a DM of which the agent is a member; returns false elsewhere. */
  async function sendAsFile({ channel, thread }: Recipient, text: string): Promise<boolean> {
    if (!isDirect(channel)) return false;
    const file = await uploadFile(api, { name: "answer.md", bytes: Buffer.from(text) });
    return await shareFiles(api, { channel, thread }, [file]).then(
      () => true,
      (thrown: unknown) => {
        if (!isRefusal(thrown)) throw thrown;
        return false;
      },
    );
  }

  return {
    async plain(recipient, text) {
      const shown = text === "" ? "Done." : beginningOf(text, maxPlainLength);
      await show(recipient, {
        text: escapeText(beginningOf(shown, maxNotificationLength)),
        blocks: [richText([{ type: "text", text: shown }])],
      });
    },
    async markdown(recipient, markdown) {
      const parts = renderMrkdwn(markdown);
      if (parts.length > maxResponses && (await sendAsFile(recipient, markdown))) return;
      const cut = parts.length > maxResponses ? [...parts.slice(0, maxResponses - 1), tooLong(parts.length)] : parts;
      for (const text of cut.length === 0 ? ["Done."] : cut) await show(recipient, { text, blocks: [] });
    },
  };
}

function tooLong(parts: number): string {
  return `This is the beginning; ${parts - maxResponses + 1} more parts don't fit here. Ask for less at a time.`;
}

/** Returns false if the URL is used up or expired, or Slack can't be reached. */
async function respond(url: string, thread: string | null, content: MessageContent): Promise<boolean> {
  const body = {
    response_type: "ephemeral",
    replace_original: false,
    ...withoutPreviews,
    text: content.text,
    ...(content.blocks.length === 0 ? {} : { blocks: content.blocks }),
    ...(thread === null ? {} : { thread_ts: thread }),
  };
  try {
    const response = await fetchDirectly(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(maxRespondMs),
    });
    const said = z.object({ ok: z.boolean() }).safeParse(parseJson(await response.text()));
    return response.ok && said.data?.ok !== false;
  } catch {
    return false;
  }
}
