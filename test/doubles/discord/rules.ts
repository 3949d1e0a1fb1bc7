/** What the double enforces, by the code that Discord answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";
import { discordRefusals } from "./refusals.ts";

export const discordRules = {
  ...discordRefusals,
  "hidden-channels-have-no-name": {
    says: "Channels that the bot can't view come over the gateway as `___hidden___` with flag 1 << 17, and not at all by REST.",
    page: "https://docs.discord.com/developers/resources/channel#channel-object-obfuscated-channels",
    read: "2026-11-27",
  },
} as const satisfies Record<string, Rule>;

type CodeOf<Key> = Key extends `${infer Code extends number}` ? Code : never;

/** What the double may refuse with. A code without a rule does not compile: add its rule. */
export type DiscordCode = CodeOf<`${keyof typeof discordRules}`>;

/** What may be wrong with a field of a form. */
export type FormCode = Extract<keyof typeof discordRules, Uppercase<string>>;
