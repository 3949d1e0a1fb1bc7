/** What the double enforces, by the code that Discord answers with, or by a name of ours in kebab-case. */
import { type Rule, read } from "../rules.ts";
import { discordRefusals } from "./refusals.ts";

const rule = read("2026-11-28");

export const discordRules = {
  ...discordRefusals,
  "allowed-mentions-decide": rule(
    "https://docs.discord.com/developers/resources/message#allowed-mentions-object",
    "A message calls those whom its allowed mentions permit, and without them everybody whom its text names.",
  ),
  "bucket-numbers": rule(
    "https://github.com/discord/discord-api-docs/issues/20",
    "Posts and edits in a channel take about five requests in five seconds; the headers say so, and no page does.",
  ),
  "buckets-are-per-resource": rule(
    "https://docs.discord.com/developers/topics/rate-limits",
    "Each route has a bucket of its own for each channel, server or webhook.",
  ),
  "checkbox-group": rule(
    "https://docs.discord.com/developers/components/reference#checkbox-group",
    "A modal's ticks have 1 to 10 options, each value once, and if required, as by default, a minimum of at least 1; the maximum is the number of options by default.",
  ),
  "command-counts": rule(
    "https://docs.discord.com/developers/interactions/application-commands#registering-a-command",
    "An application has 100 slash commands, 15 user commands and 15 message commands at most.",
  ),
  "command-sizes": rule(
    "https://docs.discord.com/developers/interactions/application-commands#application-command-object",
    "A command has a name of 32 characters, a description of 100 and 25 options at most.",
  ),
  "component-sizes": rule(
    "https://docs.discord.com/developers/components/reference",
    "A button has a label of 80 characters, a menu 25 options with 100 characters, a link 512, a custom id 100 at most.",
  ),
  "embed-sizes": rule(
    "https://docs.discord.com/developers/resources/message#embed-object-embed-limits",
    "A message has 10 embeds with 25 fields and the lengths on the page at most.",
  ),
  "file-sizes": rule(
    "https://docs.discord.com/developers/reference#uploading-files",
    "A file has 10 MiB and a request 25 MiB at most.",
  ),
  "file-types": rule(
    "https://docs.discord.com/developers/reference#file-type-filtering",
    "The client compares the end of a file's name with `image`, `video`, `audio` or extensions with a dot, 10 at most; nobody looks at its content.",
  ),
  "file-upload": rule(
    "https://docs.discord.com/developers/components/reference#file-upload",
    "A modal's upload takes up to 10 files, 1 by default, which come as ephemeral attachments in `resolved`: no message has them.",
  ),
  "gateway-commands": rule(
    "https://docs.discord.com/developers/events/gateway#rate-limiting",
    "A connection takes 120 payloads a minute with 4,096 bytes each, and one identify in five seconds for each shard of a group.",
  ),
  "intents-are-granted": rule(
    "https://docs.discord.com/developers/events/gateway#privileged-intents",
    "A session gets the events of its intents; privileged ones are switched on in the portal.",
  ),
  "interaction-times": rule(
    "https://docs.discord.com/developers/interactions/receiving-and-responding",
    "An interaction is answered within three seconds, and its token is good for 15 minutes.",
  ),
  "layout-sizes": rule(
    "https://docs.discord.com/developers/components/reference",
    "A message of components has 40 of them, with 4,000 characters together.",
  ),
  "message-pages": rule(
    "https://docs.discord.com/developers/resources/message#get-channel-messages",
    "A page has 100 messages at most, and 50 without a limit.",
  ),
  "message-sizes": rule(
    "https://docs.discord.com/developers/resources/message#create-message",
    "A message has 2,000 characters of text, 10 files and a nonce of 25 characters at most.",
  ),
  "modal-sizes": rule(
    "https://docs.discord.com/developers/components/reference",
    "A modal has a title of 45 characters and five parts with a label of 45, a description of 100 and a text of 4,000 at most.",
  ),
  "nonce-posts-once": rule(
    "https://docs.discord.com/developers/resources/message#create-message",
    "A post with the nonce of another one in the past few minutes gives back that message, if `enforce_nonce` is set.",
  ),
  "overwrites-in-order": rule(
    "https://docs.discord.com/developers/topics/permissions#permission-overwrites",
    "Roles come first, then the overwrites of a channel: for everyone, for roles, for the member.",
  ),
  "sessions-keep-events": rule(
    "https://docs.discord.com/developers/events/gateway#disconnecting",
    "A session without a connection times out after a few minutes; how many events it keeps stands nowhere.",
  ),
  "sessions-resume": rule(
    "https://docs.discord.com/developers/events/gateway#resuming",
    "A session outlives its connection, unless it was closed with 1000 or 1001.",
  ),
  "text-display-in-modals": rule(
    "https://docs.discord.com/developers/components/reference#text-display",
    "A modal shows texts between its fields; they come back without their content.",
  ),
  "thread-sizes": rule(
    "https://docs.discord.com/developers/resources/channel#modify-channel",
    "The name of a thread has 100 characters, its slow mode 21,600 seconds at most.",
  ),
  "hidden-channels-have-no-name": {
    says: "Channels that the bot can't view come over the gateway as `___hidden___` with flag 1 << 17, and not at all by REST.",
    page: "https://docs.discord.com/developers/resources/channel#channel-object-obfuscated-channels",
    read: "2026-11-27",
  },
  "notifications-show-no-components": rule(
    "https://github.com/discord/discord-api-docs/issues/7854",
    "A notification of a message that consists of components has no words: it shows the content that was sent, and an edit sends none.",
  ),
  110000: rule(
    "https://docs.discord.com/developers/resources/message#search-guild-messages",
    "Search Guild Messages answers 202 with code 110000 and `retry_after` while the server's index is built.",
  ),
  "search-sees-what-the-bot-sees": rule(
    "https://docs.discord.com/developers/resources/message#search-guild-messages",
    "Search Guild Messages finds messages whose history the bot may read, 25 at most, and needs Read Message History.",
  ),
} as const satisfies Record<string, Rule>;

type CodeOf<Key> = Key extends `${infer Code extends number}` ? Code : never;

/** What the double may refuse with. A code without a rule does not compile: add its rule. */
export type DiscordCode = CodeOf<`${keyof typeof discordRules}`>;

/** What may be wrong with a field of a form. */
export type FormCode = Extract<keyof typeof discordRules, Uppercase<string>>;
