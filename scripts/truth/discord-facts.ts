/**
 * What we rely on at Discord: in discord-api-types, which discord.js brings, and in discord-api-spec, the types that somebody
 * generates every day from Discord's own specification (OpenAPI). The latter is only read here, and never installed or run.
 */
import type { Fact } from "./facts.ts";

const api = (type: string, at: string, uses: readonly string[] = []): Fact => ({
  ...{ sdk: "discord-api-types/v10", type: type.replace(/(?=[A-Z])/, "DiscordApi.") },
  ...{ at, uses },
});
const spec = (type: string, at: string, uses: readonly string[] = []): Fact => ({
  ...{ sdk: "discord-api-spec", type: type.replace(/(?=[A-Z])/, "DiscordSpec.") },
  ...{ at, uses },
});

const platform = "src/platforms/discord";
const messages = `${platform}/outbound/messages.ts`;
const cards = `${platform}/outbound/cards/`;
const forms = `${platform}/interactions/`;
const posted = ["content", "components", "flags", "allowed_mentions", "message_reference", "nonce", "enforce_nonce"];
const edited = ["content", "components", "flags", "allowed_mentions"];

export const discordFacts: readonly Fact[] = [
  api("typeof Routes", `${platform}/api/api.ts`, [
    ...["applicationCommands", "channel", "channelMessage", "channelMessageOwnReaction", "channelMessageReaction"],
    ...[
      "channelMessages",
      "channelTyping",
      "currentApplication",
      "gatewayBot",
      "guild",
      "guildChannels",
      "guildMember",
    ],
    ...[
      "guildRoles",
      "interactionCallback",
      "threadMembers",
      "threads",
      "user",
      "userChannels",
      "userGuilds",
      "webhook",
    ],
    "webhookMessage",
  ]),
  api("RESTPostAPIChannelMessageJSONBody", messages, posted),
  api("RESTPatchAPIChannelMessageJSONBody", messages, edited),
  api("RESTPostAPIChannelMessagesThreadsJSONBody", messages, ["name", "auto_archive_duration"]),
  api("RESTGetAPIChannelMessagesQuery", `${platform}/inbound/missed.ts`, ["after", "before", "limit"]),
  api("APIModalInteractionResponseCallbackData", forms, ["custom_id", "title", "components"]),
  api("typeof ComponentType", `${platform}/limits.ts`, [
    ...["ActionRow", "Button", "CheckboxGroup", "Container", "File", "FileUpload", "Label", "Section"],
    ...["StringSelect", "TextDisplay", "TextInput", "UserSelect"],
  ]),
  api("APIButtonComponentWithCustomId", `${platform}/outbound/buttons.ts`, [
    ...["type", "custom_id", "label", "style", "disabled"],
  ]),
  api("APIContainerComponent", cards, ["type", "accent_color", "components"]),
  api("APISectionComponent", cards, ["type", "components", "accessory"]),
  api("APIFileComponent", cards, ["type", "file"]),
  api("APITextDisplayComponent", cards, ["type", "content"]),
  api("APILabelComponent", forms, ["type", "label", "component"]),
  api("APITextInputComponent", forms, ["type", "custom_id", "style", "value", "max_length", "required"]),
  api("APIStringSelectComponent", forms, ["type", "custom_id", "options", "max_values"]),
  api("APIUserSelectComponent", forms, ["type", "custom_id", "min_values"]),
  api("APICheckboxGroupComponent", forms, ["type", "custom_id", "options", "min_values", "max_values"]),
  api("APIFileUploadComponent", forms, ["type", "custom_id", "min_values", "max_values", "required", "file_types"]),
  api("RESTGetAPIGuildMessagesSearchQuery", `${platform}/outbound/message-search.ts`),
  api("typeof MessageFlags", messages, ["Ephemeral", "IsComponentsV2", "IsVoiceMessage", "SuppressEmbeds"]),
  api("typeof MessageType", `${platform}/inbound/`, ["ChatInputCommand", "Default", "Reply"]),
  api("typeof ChannelType", `${platform}/api/channels.ts`, [
    ...["AnnouncementThread", "DM", "GroupDM", "GuildAnnouncement", "GuildForum", "GuildMedia", "GuildText"],
    ...["PrivateThread", "PublicThread"],
  ]),
  api("typeof ChannelFlags", `${platform}/gateway/guild-channels.ts`, ["ChannelObfuscated"]),
  api("typeof GatewayIntentBits", `${platform}/gateway/shard.ts`, [
    ...[
      "DirectMessageReactions",
      "DirectMessages",
      "GuildMessageReactions",
      "GuildMessages",
      "Guilds",
      "MessageContent",
    ],
  ]),
  api("typeof GatewayDispatchEvents", `${platform}/platform.ts`, [
    ...[
      "ChannelDelete",
      "ChannelUpdate",
      "GuildCreate",
      "GuildMemberUpdate",
      "GuildRoleUpdate",
      "InteractionCreate",
      "MessageCreate",
      "MessageDelete",
      "MessageDeleteBulk",
    ],
    ...["MessageReactionAdd", "MessageReactionRemove", "MessageUpdate", "ThreadDelete"],
  ]),
  api("typeof GatewayCloseCodes", `${platform}/gateway/shard.ts`, [
    ...["AuthenticationFailed", "DisallowedIntents", "InvalidIntents", "InvalidShard", "ShardingRequired"],
  ]),
  api("typeof PermissionFlagsBits", `${platform}/api/permissions.ts`, [
    ...["AddReactions", "Administrator", "AttachFiles", "CreatePublicThreads", "EmbedLinks", "ManageThreads"],
    ...["ReadMessageHistory", "SendMessages", "SendMessagesInThreads", "ViewChannel"],
  ]),
  api("typeof ApplicationFlags", `${platform}/doctor.ts`, ["GatewayMessageContent", "GatewayMessageContentLimited"]),
  api("typeof InteractionType", `${platform}/interactions/interactions.ts`, [
    ...["ApplicationCommand", "ApplicationCommandAutocomplete", "MessageComponent", "ModalSubmit", "Ping"],
  ]),
  api("typeof InteractionResponseType", `${platform}/outbound/ephemeral-reply.ts`, [
    ...["ChannelMessageWithSource", "DeferredChannelMessageWithSource", "Modal"],
  ]),
  api("typeof ApplicationCommandOptionType", `${platform}/interactions/commands.ts`, [
    "Attachment",
    "String",
    "Subcommand",
  ]),
  api("typeof RESTJSONErrorCodes", `${platform}/api/api.ts`, [
    ...["UnknownChannel", "UnknownGuild", "UnknownMember", "UnknownMessage", "UnknownUser", "UnknownWebhook"],
    ...["UnknownInteraction", "InteractionHasAlreadyBeenAcknowledged", "MissingAccess", "CannotSendMessagesToThisUser"],
    ...["CannotSendMessagesInNonTextChannel", "MissingPermissions", "InvalidWebhookToken", "RequestEntityTooLarge"],
    ...["CannotExecuteActionOnThisChannelType", "InvalidFormBodyOrContentType", "ThreadLocked"],
    ...["CannotReplyWithoutPermissionToReadMessageHistory", "ThreadAlreadyCreatedForMessage"],
    ...[
      "CannotSendAnEmptyMessage",
      "MaximumActiveThreads",
      "MessageWasBlockedByAutomaticModeration",
      "MessageBlockedByHarmfulLinksFilter",
    ],
    ...["CannotSendMessagesToThisUserDueToHavingNoMutualGuilds", "InvalidActionOnArchivedThread"],
  ]),

  spec("keyof Paths", `${platform}/api/api.ts`, [
    ...["/applications/@me", "/applications/{application_id}/commands", "/channels/{channel_id}", "/gateway/bot"],
    ...["/channels/{channel_id}/messages", "/channels/{channel_id}/messages/{message_id}"],
    ...["/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}"],
    ...["/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me"],
    ...["/channels/{channel_id}/messages/{message_id}/threads", "/channels/{channel_id}/thread-members/{user_id}"],
    ...["/channels/{channel_id}/threads", "/channels/{channel_id}/typing", "/guilds/{guild_id}"],
    ...[
      "/guilds/{guild_id}/channels",
      "/guilds/{guild_id}/messages/search",
      "/guilds/{guild_id}/members/{user_id}",
      "/guilds/{guild_id}/roles",
    ],
    ...["/interactions/{interaction_id}/{interaction_token}/callback", "/users/{user_id}", "/users/@me"],
    ...["/users/@me/channels", "/users/@me/guilds", "/webhooks/{webhook_id}/{webhook_token}"],
    "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
  ]),
  spec("MessageCreateRequest", messages, posted),
  spec("MessageEditRequestPartial", messages, edited),
  spec("typeof MessageComponentTypes", cards),
  spec("ButtonComponentForMessageRequest", cards, ["type", "custom_id", "label", "style", "disabled"]),
  spec("ContainerComponentForMessageRequest", cards, ["type", "accent_color", "components"]),
  spec("ModalInteractionCallbackRequestData", forms, ["custom_id", "title", "components"]),
  spec("LabelComponentForModalRequest", forms, ["type", "label", "component"]),
  spec("TextInputComponentForModalRequest", forms, ["type", "custom_id", "style", "value", "max_length", "required"]),
  spec("StringSelectComponentForModalRequest", forms, ["type", "custom_id", "options", "max_values"]),
  spec("CheckboxGroupComponentForModalRequest", forms, ["type", "custom_id", "options", "min_values", "max_values"]),
  spec("FileUploadComponentForModalRequest", forms, [
    "type",
    "custom_id",
    "min_values",
    "max_values",
    "required",
    "file_types",
  ]),
  spec("UserSelectComponentForModalRequest", forms, ["type", "custom_id", "min_values"]),
];
