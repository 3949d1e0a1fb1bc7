/** Tells group DMs from channels, whose ids look alike. Message events give the type; otherwise asks Slack. */
import { z } from "zod";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { SlackApi } from "../api/api.ts";

/** If Slack does not give the type, the conversation counts as a group DM. Never rejects. */
export type IsGroupDm = (channel: string, channelType: string | undefined) => Promise<boolean>;

const maxChannels = 5_000;
const infoSchema = z.object({ channel: z.object({ is_mpim: z.boolean().optional() }) });

export function createGroupDms(api: SlackApi): IsGroupDm {
  const known = createLruMap<{ isGroupDm: boolean }>(maxChannels);

  async function ask(channel: string): Promise<boolean | undefined> {
    try {
      const { channel: info } = await api.call("conversations.info", { channel }, infoSchema, { maxRetryMs: 0 });
      return info.is_mpim === true;
    } catch {
      return undefined;
    }
  }

  return async (channel, channelType) => {
    const isGroupDm =
      known.get(channel)?.isGroupDm ?? (channelType === undefined ? await ask(channel) : channelType === "mpim");
    if (isGroupDm !== undefined) known.set(channel, { isGroupDm });
    return isGroupDm ?? true;
  };
}
