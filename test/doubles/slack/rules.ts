/** What the double enforces, by the error that Slack answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const slackRules = {
  app_rate_limited: {
    says: "Above 30,000 events of one workspace in an hour, Slack tells the app so once for each minute, and drops the events of that minute.",
    page: "https://docs.slack.dev/reference/events/app_rate_limited",
    read: "2026-11-28",
  },
  cannot_reply_to_message: {
    says: "Some messages, such as those of Slack itself, take no replies in a thread.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-28",
  },
  "dm-is-a-thread": {
    says: "With `agent_view`, every DM with a person is a thread, and threads are listed as sessions.",
    page: "https://docs.slack.dev/ai/developing-agents",
    read: "2026-11-27",
  },
  message_limit_exceeded: {
    says: "People of a free workspace send too many messages, and for a while it takes no more of them.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-28",
  },
  messages_tab_disabled: {
    says: "The app's direct messages are turned off in its settings.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-28",
  },
  "method-errors": {
    says: "Each method documents the errors that it may answer with.",
    page: "https://github.com/slack-ruby/slack-api-ref/tree/f4837c0cb6dba1b1122ce66a5b69195ce47213f8/docs.slack.dev/methods",
    read: "2026-11-28",
  },
  rate_limited: {
    says: "An app that has posted too many messages is refused with this error in an answer with HTTP 200, too.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-28",
  },
  restricted_action_non_threadable_channel: {
    says: "A channel whose policy forbids threads refuses a post with `thread_ts`.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-27",
  },
  restricted_action_thread_only_channel: {
    says: "A channel whose policy allows replies only refuses a post without `thread_ts`.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-28",
  },
  "text-is-cut": {
    says: "A message of more than 40,000 characters is cut, not refused.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-27",
  },
} as const satisfies Record<string, Rule>;
