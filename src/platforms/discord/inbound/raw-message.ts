/** Makes a message of any form one that can be handled: what must be there is, and has its type. */
import { type APIMessage, type APIUser, type GatewayMessageCreateDispatchData, MessageType } from "discord.js";
import { isSnowflake } from "../conversation-id.ts";
import { snowflakeEpochMs } from "../limits.ts";
import { fieldsOf, flagsOf, listOf, textOf } from "./fields.ts";

/** A message without a `guild_id` is a DM. */
export type RawMessage = APIMessage & Pick<GatewayMessageCreateDispatchData, "guild_id" | "member">;

/** Nobody's id. */
export const noAuthorId = "0";

/** Undefined if it has no id or place. What else it has stays as it is, for shown-message.ts. */
export function asMessage(
  value: unknown,
  place?: { channelId?: string; guildId?: string | undefined },
): RawMessage | undefined {
  const raw = fieldsOf(value);
  const [id, channel] = [textOf(raw?.id), textOf(raw?.channel_id ?? place?.channelId)];
  if (raw === undefined || !isSnowflake(id) || !isSnowflake(channel)) return undefined;
  const {
    guild_id: _guild,
    member,
    webhook_id: webhook,
    thread,
    interaction_metadata,
    message_reference,
    ...rest
  } = raw;
  const guild = textOf(raw.guild_id ?? place?.guildId);
  const made = fieldsOf(interaction_metadata);
  const asker = userIn(made?.user);
  const message = {
    ...rest,
    ...{ id, channel_id: channel, content: textOf(raw.content), flags: flagsOf(raw) },
    type: typeof raw.type === "number" ? raw.type : MessageType.Default,
    author: userIn(raw.author) ?? { id: noAuthorId, username: "somebody" },
    mentions: listOf(raw.mentions).flatMap((user) => userIn(user) ?? []),
    timestamp: Number.isFinite(Date.parse(textOf(raw.timestamp))) ? textOf(raw.timestamp) : timeOf(id),
    ...(isSnowflake(guild) ? { guild_id: guild } : {}),
    ...(textOf(webhook) === "" ? {} : { webhook_id: textOf(webhook) }),
    ...(fieldsOf(member) === undefined ? {} : { member: memberIn(member) }),
    ...(fieldsOf(thread) === undefined ? {} : { thread }),
    ...(fieldsOf(message_reference) === undefined ? {} : { message_reference }),
    ...(asker === undefined ? {} : { interaction_metadata: { ...made, id: textOf(made?.id), user: asker } }),
  };
  return message as unknown as RawMessage;
}

export function userIn(value: unknown): APIUser | undefined {
  const user = fieldsOf(value);
  const id = textOf(user?.id);
  if (user === undefined || !isSnowflake(id)) return undefined;
  const { global_name: name, username, member, ...rest } = user;
  const known = {
    ...{ ...rest, id, username: textOf(username) || id, global_name: textOf(name) || null },
    ...(fieldsOf(member) === undefined ? {} : { member: memberIn(member) }),
  };
  return known as unknown as APIUser;
}

function memberIn(value: unknown) {
  const member = fieldsOf(value);
  return { ...member, nick: textOf(member?.nick) || null, roles: listOf(member?.roles).map(textOf) };
}

function timeOf(id: string): string {
  return new Date(Number(BigInt(id) >> 22n) + snowflakeEpochMs).toISOString();
}
