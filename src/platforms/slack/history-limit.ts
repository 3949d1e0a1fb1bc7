/** Finds out whether Slack limits the app's access to history, as for apps distributed outside the Marketplace. */
import { z } from "zod";
import type { SlackApi } from "./api/api.ts";
import { linePageSchema } from "./inbound/lines.ts";
import { isLimitedApp } from "./inbound/read-thread.ts";
import { maxLimitedHistoryPage, maxListPage } from "./limits.ts";

const listSchema = z.object({ channels: z.array(z.object({ id: z.string(), is_member: z.boolean().optional() })) });
/** How many channels to try until one has more messages than a limited page holds. */
const maxChannels = 3;
const maxRetryMs = 2_000;

/** Undefined if this can't be determined, for example because no channel has enough messages. */
export async function hasHistoryLimit(api: SlackApi): Promise<boolean | undefined> {
  try {
    const types = "public_channel,private_channel";
    const list = { types, exclude_archived: true, limit: maxListPage };
    const { channels } = await api.call("conversations.list", list, listSchema, { maxRetryMs });
    for (const { id: channel } of channels
      .filter(({ is_member: isMember }) => isMember === true)
      .slice(0, maxChannels)) {
      const args = { channel, limit: maxLimitedHistoryPage + 1 };
      const page = await api.call("conversations.history", args, linePageSchema, { maxRetryMs });
      if (page.messages.length > maxLimitedHistoryPage) return false;
      if (page.has_more === true) return true;
    }
  } catch (thrown) {
    if (isLimitedApp(thrown)) return true;
  }
  return undefined;
}
