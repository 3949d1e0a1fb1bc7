/**
 * Opens a message's file. Discord's file links expire after a day; fetching the message again gives a new link. Refuses
 * links to other hosts.
 */
import { type APIMessage, Routes } from "discord.js";
import { z } from "zod";
import type { Platform } from "../../../ports/platform.ts";
import { deletedFile, isRefused, isStoredThere, requestFile, streamOf } from "../../shared/file-download.ts";
import { platformError } from "../../shared/platform-error.ts";
import { type DiscordApi, hidden, unlessRefused } from "../api/api.ts";
import { filesOf, type HeldFile } from "./shown-message.ts";

const sourceSchema = z.object({ channel: z.string(), message: z.string(), id: z.string(), url: z.string() });
type FileSource = z.infer<typeof sourceSchema>;

/** Hosts in attachment links; see also https://discord.com/developers/docs/reference#image-formatting. */
const fileHosts: readonly string[] = ["cdn.discordapp.com", "media.discordapp.net"];

/** Undefined if Discord sent no link to the file. */
export function sourceOf({ channelId, messageId, id, url }: HeldFile): FileSource | undefined {
  return url === undefined ? undefined : { channel: channelId, message: messageId, id, url };
}

export function createFileOpener(api: DiscordApi, apiUrl: string | undefined): NonNullable<Platform["openFile"]> {
  async function request(url: string, signal: AbortSignal): Promise<Response> {
    if (!isStoredThere(url, apiUrl, (host) => fileHosts.includes(host)))
      throw platformError("discord", "file-elsewhere", "the file is not stored by Discord.");
    return await requestFile(url, {}, signal);
  }

  async function freshUrl({ channel, message, id }: FileSource, signal: AbortSignal): Promise<string> {
    const route = Routes.channelMessage(channel, message);
    const found = await unlessRefused(api.request<APIMessage>({ method: "GET", route, signal }), ...hidden);
    const file = found && filesOf(found).find((each) => each.id === id);
    if (file?.url === undefined) throw deletedFile("discord");
    return file.url;
  }

  return async ({ source }, signal) => {
    const parsed = sourceSchema.parse(source);
    const response = await request(parsed.url, signal);
    if (!isRefused(response)) return streamOf("discord", response);
    await response.body?.cancel();
    const again = await request(await freshUrl(parsed, signal), signal);
    if (!isRefused(again)) return streamOf("discord", again);
    await again.body?.cancel();
    throw deletedFile("discord");
  };
}
