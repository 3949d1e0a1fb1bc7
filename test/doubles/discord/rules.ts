/** What the double enforces, by the code that Discord answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const discordRules = {
  "hidden-channels-have-no-name": {
    says: "Channels that the bot can't view come over the gateway as `___hidden___` with flag 1 << 17, and not at all by REST.",
    page: "https://docs.discord.com/developers/resources/channel#channel-object-obfuscated-channels",
    read: "2026-11-27",
  },
  "notifications-show-no-components": {
    says: "A notification of a message that consists of components has no words: it shows the content that was sent, and an edit sends none.",
    page: "https://github.com/discord/discord-api-docs/issues/7854",
    read: "2026-11-28",
  },
} as const satisfies Record<string, Rule>;
