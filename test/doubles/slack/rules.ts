/** What the double enforces, by the error that Slack answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const slackRules = {
  app_context_changed: {
    says: "With `agent_view` and this event, messages in DMs carry what their person looks at: entities with their workspace, most relevant first. The event names no person, and its context may be empty.",
    page: "https://docs.slack.dev/reference/events/app_context_changed",
    read: "2026-11-28",
  },
  "dm-is-a-thread": {
    says: "With `agent_view`, every DM with a person is a thread, and threads are listed as sessions.",
    page: "https://docs.slack.dev/ai/developing-agents",
    read: "2026-11-27",
  },
  file_input: {
    says: "A modal's upload stands in an input block, takes 1 to 10 files, 10 by default, of at most 10 MB each, and needs `files:read`. Its `filetypes` are a convenience: other kinds can come.",
    page: "https://docs.slack.dev/reference/block-kit/block-elements/file-input-element",
    read: "2026-11-28",
  },
  restricted_action_non_threadable_channel: {
    says: "A channel whose policy forbids threads refuses a post with `thread_ts`.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-27",
  },
} as const satisfies Record<string, Rule>;
