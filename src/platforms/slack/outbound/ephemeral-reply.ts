/**
 * Words for one person alone: by the response URL of what they did, which works everywhere and has five uses; else as an
 * ephemeral message in the channel, else in their DM.
 */
import { z } from "zod";
import type { SlackApi } from "../api/api.ts";
import { isPlaceProblem } from "../api/api-problems.ts";
import { isDirect } from "../conversation-id.ts";
import { shareFiles, uploadFile } from "./files-out.ts";
import { type MessageContent, mrkdwnParts } from "./render.ts";
import { richText } from "./rich-text.ts";
import { beginningOf, escapeText } from "./safe-text.ts";

/** Where a person is, and how to answer them there. */
export interface Whereabouts {
  userId: string;
  channel: string;
  thread: string | null;
  responseUrl?: string;
}

export interface Teller {
  /** Plain text, shown as it is. */
  plain(where: Whereabouts, text: string): Promise<void>;
  /** Standard Markdown. */
  markdown(where: Whereabouts, markdown: string): Promise<void>;
}

const nothing = z.unknown();
const mostParts = 5;
const limitMs = 10_000;

export function createTeller(api: SlackApi): Teller {
  async function show(where: Whereabouts, content: MessageContent): Promise<void> {
    if (where.responseUrl !== undefined && (await respond(where.responseUrl, where.thread, content))) return;
    const { channel, userId: user } = where;
    const place = { channel, ...(where.thread === null ? {} : { thread_ts: where.thread }) };
    if (isDirect(channel)) {
      const silent = { unfurl_links: false, unfurl_media: false };
      await api.call("chat.postMessage", { ...place, ...silent, ...content }, nothing, { isOnce: true });
    } else {
      await api.call("chat.postEphemeral", { ...place, user, ...content }, nothing, { isOnce: true });
    }
  }

  /** In their DM a person has room for a file; false where the agent is not in it. */
  async function sendAsFile({ channel, thread }: Whereabouts, text: string): Promise<boolean> {
    if (!isDirect(channel)) return false;
    const file = await uploadFile(api, { name: "answer.md", bytes: Buffer.from(text) });
    return await shareFiles(api, { channel, thread }, [file]).then(
      () => true,
      (thrown: unknown) => {
        if (!isPlaceProblem(thrown)) throw thrown;
        return false;
      },
    );
  }

  return {
    async plain(where, text) {
      const shown = text === "" ? "Done." : beginningOf(text, 3_000);
      await show(where, {
        text: escapeText(beginningOf(shown, 700)),
        blocks: [richText([{ type: "text", text: shown }])],
      });
    },
    async markdown(where, markdown) {
      const parts = mrkdwnParts(markdown);
      if (parts.length > mostParts && (await sendAsFile(where, markdown))) return;
      const cut = parts.length > mostParts ? [...parts.slice(0, mostParts - 1), tooLong(parts.length)] : parts;
      for (const text of cut.length === 0 ? ["Done."] : cut) await show(where, { text, blocks: [] });
    },
  };
}

function tooLong(parts: number): string {
  return `This is the beginning; ${parts - mostParts + 1} more parts don't fit here. Ask for less at a time.`;
}

/** False when the address is used up, has expired, or Slack is out of reach. */
async function respond(url: string, thread: string | null, content: MessageContent): Promise<boolean> {
  const body = {
    response_type: "ephemeral",
    replace_original: false,
    text: content.text,
    ...(content.blocks.length === 0 ? {} : { blocks: content.blocks }),
    ...(thread === null ? {} : { thread_ts: thread }),
  };
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      redirect: "error",
      signal: AbortSignal.timeout(limitMs),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
