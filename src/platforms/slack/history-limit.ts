/** Finds out whether Slack lets the app read hardly any history, as it does with apps distributed outside the Marketplace. */
import { z } from "zod";
import type { SlackApi } from "./api/api.ts";
import { linePageSchema } from "./inbound/lines.ts";
import { isLimitedApp } from "./inbound/read-thread.ts";
import { maxLimitedHistoryPage, maxListPage } from "./limits.ts";

const listSchema = z.object({ channels: z.array(z.object({ id: z.string(), is_member: z.boolean().optional() })) });
/** Channels in which the app looks for more messages than a limited page has. */
const maxChannels = 3;
const patienceMs = 2_000;

/** Undefined if it can't be known, for example because no channel has enough messages. */
export async function hasHistoryLimit(api: SlackApi): Promise<boolean | undefined> {
  try {
    const types = "public_channel,private_channel";
    const list = { types, exclude_archived: true, limit: maxListPage };
    const { channels } = await api.call("conversations.list", list, listSchema, { patienceMs });
    for (const { id: channel } of channels
      .filter(({ is_member: isMember }) => isMember === true)
      .slice(0, maxChannels)) {
      const args = { channel, limit: maxLimitedHistoryPage + 1 };
      const page = await api.call("conversations.history", args, linePageSchema, { patienceMs });
      if (page.messages.length > maxLimitedHistoryPage) return false;
      if (page.has_more === true) return true;
    }
  } catch (thrown) {
    if (isLimitedApp(thrown)) return true;
  }
  return undefined;
}
