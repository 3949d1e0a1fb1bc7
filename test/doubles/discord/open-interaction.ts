/** Starts an interaction: assigns id and token, and sends it to the application. */
import { randomBytes } from "node:crypto";
import type { APIMessageInteractionMetadata } from "discord.js";
import { memberOf, userOf } from "./lookups.ts";
import { interactionChannel, partialMember, userPayload } from "./payloads.ts";
import { permissionsIn } from "./permissions.ts";
import type { ChannelRecord, InteractionRecord, MessageRecord, World } from "./world.ts";

export interface OpenedInteraction {
  type: InteractionRecord["type"];
  name: string;
  userId: string;
  channel: ChannelRecord;
  data: object;
  source?: MessageRecord;
  sourcePayload?: object;
  opener?: InteractionRecord;
}

/** Records an interaction and sends it to the application. */
export function openInteraction(world: World, opened: OpenedInteraction): InteractionRecord {
  const { channel, userId, type, source, opener } = opened;
  const id = world.nextId();
  const interaction: InteractionRecord = {
    id,
    token: randomBytes(60).toString("base64url"),
    type,
    name: opened.name,
    userId,
    channelId: channel.id,
    openedAt: world.clock.now(),
    isDeferred: false,
    followupIds: [],
    metadata: metadataOf(world, id, opened),
    ...(source === undefined ? {} : { sourceId: source.id }),
    ...(opener === undefined ? {} : { opener }),
  };
  world.interactions.set(id, interaction);
  world.tokens.set(interaction.token, id);
  world.publish({
    type: "INTERACTION_CREATE",
    intents: 0,
    ...(channel.guildId === undefined ? {} : { guildId: channel.guildId }),
    payload: () => interactionPayload(world, interaction, opened),
  });
  return interaction;
}

function metadataOf(world: World, id: string, opened: OpenedInteraction): APIMessageInteractionMetadata {
  return {
    id,
    type: opened.type,
    user: userPayload(userOf(world, opened.userId)),
    authorizing_integration_owners: { 0: opened.channel.guildId ?? "0" },
    ...(opened.type === 3 && opened.source !== undefined ? { interacted_message_id: opened.source.id } : {}),
    ...(opened.opener === undefined ? {} : { triggering_interaction_metadata: opened.opener.metadata }),
  } as APIMessageInteractionMetadata;
}

function interactionPayload(world: World, interaction: InteractionRecord, opened: OpenedInteraction): object {
  const { channel, userId } = opened;
  const { guildId } = channel;
  const user = userPayload(userOf(world, userId));
  const member = memberOf(world, guildId, userId);
  const permissions = String(permissionsIn(world, userId, channel));
  const inGuild = {
    guild_id: guildId,
    guild: { id: guildId, locale: "en-US", features: [] },
    guild_locale: "en-US",
    ...(member === undefined ? {} : { member: { ...partialMember(member), user, permissions } }),
  };
  return {
    id: interaction.id,
    application_id: world.application.id,
    type: interaction.type,
    token: interaction.token,
    version: 1,
    channel_id: channel.id,
    channel: interactionChannel(world, channel, userId),
    ...(guildId === undefined ? { user } : inGuild),
    locale: "en-US",
    app_permissions: String(permissionsIn(world, world.application.id, channel)),
    entitlements: [],
    authorizing_integration_owners: { 0: guildId ?? "0" },
    context: guildId === undefined ? 1 : 0,
    attachment_size_limit: 10_485_760,
    data: opened.data,
    ...(opened.sourcePayload === undefined ? {} : { message: opened.sourcePayload }),
  };
}
