/** What the double enforces, by the code that Discord answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const discordRules = {
  "30046": {
    says: "Edits of messages older than an hour have a limit of their own: by reports, 3 in 20 seconds per channel. The next gets a 429 with this code.",
    page: "https://github.com/circuitsacul/starboard-4/issues/118",
    read: "2026-11-28",
  },
  "global-limit": {
    says: "A bot may make 50 requests a second to all routes together; the next gets a 429 with `global: true`, X-RateLimit-Global and X-RateLimit-Scope: global. Interaction endpoints are not bound to that.",
    page: "https://docs.discord.com/developers/topics/rate-limits#global-rate-limit",
    read: "2026-11-28",
  },
  "hidden-channels-have-no-name": {
    says: "Channels that the bot can't view come over the gateway as `___hidden___` with flag 1 << 17 and one overwrite that denies everyone View Channel; only id, type and position can be relied on. REST leaves them out. What the bot sees again comes in full as CHANNEL_UPDATE.",
    page: "https://docs.discord.com/developers/resources/channel#channel-object-obfuscated-channels",
    read: "2026-11-28",
  },
  "invalid-requests": {
    says: "After 10,000 answers with 401, 403 or 429 (other than of scope shared) in 10 minutes, Cloudflare refuses all requests of the address for a while, with a page of HTML.",
    page: "https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans",
    read: "2026-11-28",
  },
  "message-content-review": {
    says: "From 10,000 people across all servers on, an app must apply for the Message Content Intent within 90 days of a notice, and again each year. Meanwhile it goes on. The flag GATEWAY_MESSAGE_CONTENT without LIMITED tells of an approval.",
    page: "https://docs.discord.com/developers/gateway/getting-started-with-privileged-intent-review",
    read: "2026-11-28",
  },
} as const satisfies Record<string, Rule>;
