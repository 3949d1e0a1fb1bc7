/** What the double enforces, by the error that Slack answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const slackRules = {
  "dm-is-a-thread": {
    says: "With `agent_view`, every DM with a person is a thread, and threads are listed as sessions.",
    page: "https://docs.slack.dev/ai/developing-agents",
    read: "2026-11-27",
  },
  "guests-open-no-agent": {
    says: "Workspace guests are not permitted to access apps with the Agents feature enabled.",
    page: "https://docs.slack.dev/ai/developing-agents#members-only",
    read: "2026-11-27",
  },
  restricted_action_non_threadable_channel: {
    says: "A channel whose policy forbids threads refuses a post with `thread_ts`.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-27",
  },
} as const satisfies Record<string, Rule>;
