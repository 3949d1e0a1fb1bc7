/** What the double enforces, by the error that Slack answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const slackRules = {
  "dm-is-a-thread": {
    says: "With `agent_view`, every DM with a person is a thread, and threads are listed as sessions.",
    page: "https://docs.slack.dev/ai/developing-agents",
    read: "2026-11-27",
  },
  invalid_action_token: {
    says: "The app's own token searches public channels as the person from whose message the action token is, for a short time.",
    page: "https://docs.slack.dev/reference/methods/assistant.search.context",
    read: "2026-11-28",
  },
  "mentions-and-dms-bring-action-tokens": {
    says: "`app_mention`, messages of DMs, group DMs and private channels, and mentions in public channels carry an action token.",
    page: "https://docs.slack.dev/apis/web-api/real-time-search-api#action-token",
    read: "2026-11-28",
  },
  rate_limited: {
    says: "Besides the workspace's limit, a person can search by `assistant.search.context` 10 times a minute, with 20 results each.",
    page: "https://docs.slack.dev/reference/methods/assistant.search.context#rate-limiting",
    read: "2026-11-28",
  },
  restricted_action_non_threadable_channel: {
    says: "A channel whose policy forbids threads refuses a post with `thread_ts`.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-27",
  },
  "search-from-a-shared-channel": {
    says: "A search from a Slack Connect channel finds only what is in that channel, and guests can't search at all.",
    page: "https://docs.slack.dev/apis/web-api/real-time-search-api#public-channels",
    read: "2026-11-28",
  },
} as const satisfies Record<string, Rule>;
