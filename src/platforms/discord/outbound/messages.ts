/** Posts, edits and removes messages. Pings only the people and roles that a post names. A post repeated after a lost answer appears once. */
import { createHash } from "node:crypto";
import {
  type APIEmbed,
  type APIMessage,
  type APIMessageTopLevelComponent,
  MessageFlags,
  type RawFile,
  Routes,
} from "discord.js";
import { type DiscordApi, isLimited, type RetryPolicy, unlessRefused } from "../api/api.ts";
import { isOldMessage } from "../api/rate-limits.ts";
import { maxNonceLength } from "../limits.ts";
import type { OldEdits } from "./old-edits.ts";

/** The complete message: an edit clears the parts that are left out. */
export interface OutgoingMessage {
  content?: string;
  embeds?: APIEmbed[];
  components?: APIMessageTopLevelComponent[];
  /** The message consists of components alone, also its text. Discord never turns it back into another message. */
  isLayout?: boolean;
  files?: RawFile[];
  /** Whom a post may ping. An edit pings nobody. */
  mentions?: Mentions;
}

export interface Mentions {
  users: string[];
  roles: string[];
}

export interface PostOptions {
  nonce: string;
  replyTo?: string;
  retry: RetryPolicy;
}

export interface Messages {
  /** `isSame` is false if an earlier post with this nonce had different content. */
  post(channelId: string, message: OutgoingMessage, options: PostOptions): Promise<{ id: string; isSame: boolean }>;
  edit(channelId: string, messageId: string, message: OutgoingMessage, retry: RetryPolicy): Promise<void>;
  remove(channelId: string, messageId: string): Promise<void>;
}

export function createMessages(api: DiscordApi, oldEdits: OldEdits): Messages {
  return {
    async post(channelId, message, { nonce, replyTo, retry }) {
      const reference = { message_id: replyTo, fail_if_not_exists: false };
      const posted = await api.request<APIMessage>({
        method: "POST",
        route: Routes.channelMessages(channelId),
        ...payload(message, replyTo === undefined ? {} : { message_reference: reference }, nonce, message.mentions),
        retry,
      });
      return { id: posted.id, isSame: visibleText(posted) === visibleText(message) };
    },
    async edit(channelId, messageId, message, retry) {
      const route = Routes.channelMessage(channelId, messageId);
      const send = async () => void (await api.request({ method: "PATCH", route, ...payload(message, {}), retry }));
      const isOld = () => isOldMessage(messageId, api.now());
      if (!isOld()) {
        // It may get old on its way.
        const isSent = send().then(
          () => true,
          (thrown) => (isLimited(thrown) && isOld() ? false : Promise.reject(thrown)),
        );
        if (await isSent) return;
      }
      await oldEdits.edit(channelId, messageId, send);
    },
    async remove(channelId, messageId) {
      const route = Routes.channelMessage(channelId, messageId);
      await unlessRefused(
        api.request({ method: "DELETE", route, retry: "lasting" }),
        "unknownMessage",
        "unknownChannel",
      );
    },
  };
}

/** Leaves out blanks, because Discord may change them. */
export function visibleText({ content = "", embeds = [], components = [] }: OutgoingMessage | APIMessage): string {
  const buttons = JSON.stringify(components).match(/"(?:custom_id|content)":"(?:[^"\\]|\\.)*"/g) ?? [];
  const texts = [content, ...embeds.flatMap(({ title = "", description = "" }) => [title, description])];
  return [...texts.map((text) => text.replace(/\s+/g, "")), ...buttons].join("\n");
}

export const noMentions = { parse: [], replied_user: false };

function payload(
  message: OutgoingMessage,
  extra: object,
  nonce?: string,
  mentions?: Mentions,
): { body: object; files?: RawFile[] } {
  const { content = "", embeds = [], components = [], files = [], isLayout = false } = message;
  const isEdit = nonce === undefined;
  // An edit to components alone must empty the text and embeds of an older card. A new message must not name them.
  const legacy = isLayout ? (isEdit ? { content: null, embeds: [] } : {}) : { content, embeds };
  const body = {
    ...legacy,
    components,
    attachments: files.map(({ name }, id) => ({ id, filename: name })),
    allowed_mentions: { ...noMentions, ...mentions },
    // Not set for a message with embeds, because the flag would hide them too.
    flags: isLayout ? MessageFlags.IsComponentsV2 : embeds.length > 0 ? 0 : MessageFlags.SuppressEmbeds,
    ...(nonce === undefined ? {} : { nonce, enforce_nonce: true }),
    ...extra,
  };
  return { body, ...(files.length === 0 ? {} : { files }) };
}

export function nonceOf(...parts: string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("base64url").slice(0, maxNonceLength);
}
