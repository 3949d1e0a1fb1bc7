/** What the double enforces, by the code that Discord answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const discordRules = {
  "checkbox-group": {
    says: "A modal's group of ticks stands under a label and has 1 to 10 options, each value once. Required, which is the default, it needs a minimum of at least 1; its maximum is the number of options by default.",
    page: "https://docs.discord.com/developers/components/reference#checkbox-group",
    read: "2026-11-28",
  },
  "file-upload": {
    says: "A modal's upload stands under a label, takes 0 to 10 files, 1 by default, and at most 10 file types. Its files come as ephemeral attachments in `resolved`: no message has them.",
    page: "https://docs.discord.com/developers/components/reference#file-upload",
    read: "2026-11-28",
  },
  "file-types": {
    says: "The client compares the end of a file's name with `image`, `video`, `audio` or extensions with a dot. Nobody looks at its content.",
    page: "https://docs.discord.com/developers/reference#file-type-filtering",
    read: "2026-11-28",
  },
  "hidden-channels-have-no-name": {
    says: "Channels that the bot can't view come over the gateway as `___hidden___` with flag 1 << 17, and not at all by REST.",
    page: "https://docs.discord.com/developers/resources/channel#channel-object-obfuscated-channels",
    read: "2026-11-27",
  },
  "text-display-in-modals": {
    says: "A modal shows texts between its fields; they come back without their content.",
    page: "https://docs.discord.com/developers/components/reference#text-display",
    read: "2026-11-28",
  },
} as const satisfies Record<string, Rule>;
