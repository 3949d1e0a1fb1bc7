/** What the double enforces, by the code that Discord answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const discordRules = {
  "hidden-channels-have-no-name": {
    says: "Channels that the bot can't view come over the gateway as `___hidden___` with flag 1 << 17, and not at all by REST.",
    page: "https://docs.discord.com/developers/resources/channel#channel-object-obfuscated-channels",
    read: "2026-11-27",
  },
  110000: {
    says: "Search Guild Messages answers 202 with code 110000 and `retry_after` while the server's index is built.",
    page: "https://docs.discord.com/developers/resources/message#search-guild-messages",
    read: "2026-11-28",
  },
  "search-sees-what-the-bot-sees": {
    says: "Search Guild Messages finds messages whose history the bot may read, 25 at most, and needs Read Message History.",
    page: "https://docs.discord.com/developers/resources/message#search-guild-messages",
    read: "2026-11-28",
  },
} as const satisfies Record<string, Rule>;
