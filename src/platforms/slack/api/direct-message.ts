/** Opens the direct messages with a person. */
import { z } from "zod";
import type { SlackApi } from "./api.ts";

const openSchema = z.object({ channel: z.object({ id: z.string() }) });

/** Resolves to the channel's id. */
export async function openDirectMessages(api: SlackApi, userId: string): Promise<string> {
  return (await api.call("conversations.open", { users: userId }, openSchema)).channel.id;
}
