/** What the double enforces, by the error that Slack answers with, or by a name of ours in kebab-case. */
import type { Rule } from "../rules.ts";

export const slackRules = {
  "agent-session-hour": {
    says: "`processing` ends by itself an hour after it was set, and a post does not end it.",
    page: "https://docs.slack.dev/ai/agent-sessions",
    read: "2026-11-28",
  },
  "agent-session-of-a-stream": {
    says: "`chat.startStream` sets the session to `processing`, `chat.stopStream` to `session_status`, by default `active`.",
    page: "https://docs.slack.dev/ai/agent-sessions",
    read: "2026-11-28",
  },
  "agent-session-stop-button": {
    says: "A click on stop ends the streams and leaves `processing`; the app has to set another state.",
    page: "https://docs.slack.dev/reference/events/agent_session_stopped",
    read: "2026-11-28",
  },
  "agent-session-title": {
    says: "The title and the initiator of `agents.sessions.setStatus` count only when the call creates the session; colons become underscores (reported).",
    page: "https://docs.slack.dev/reference/methods/agents.sessions.setStatus",
    read: "2026-11-28",
  },
  "assistant-threads-bridge": {
    says: "A text of `assistant.threads.setStatus` sets the session to `processing`, an empty one to `active`.",
    page: "https://docs.slack.dev/ai/migrating-to-agent-messaging",
    read: "2026-11-28",
  },
  "dm-is-a-thread": {
    says: "With `agent_view`, every DM with a person is a thread, and threads are listed as sessions.",
    page: "https://docs.slack.dev/ai/developing-agents",
    read: "2026-11-27",
  },
  feature_disabled: {
    says: "`agents.sessions.*` is refused for apps that are not declared as agents (the code is from reports).",
    page: "https://docs.slack.dev/ai/agent-sessions",
    read: "2026-11-28",
  },
  "metadata-event-type": {
    says: "Metadata whose `event_type` has a dot is left away, with a warning.",
    page: "https://docs.slack.dev/messaging/message-metadata",
    read: "2026-11-27",
  },
  method_deprecated: {
    says: "`assistant.threads.setStatus` and `.setTitle` go with `assistant_view`, in February 2027.",
    page: "https://docs.slack.dev/changelog/2026/08/20/agent-updates",
    read: "2026-11-27",
  },
  missing_agent_session_stopped_event_subscription: {
    says: "Without that event, `agents.sessions.setStatus` succeeds with this warning, and people see no stop button.",
    page: "https://docs.slack.dev/reference/events/agent_session_stopped",
    read: "2026-11-28",
  },
  restricted_action_non_threadable_channel: {
    says: "A channel whose policy forbids threads refuses a post with `thread_ts`.",
    page: "https://docs.slack.dev/reference/methods/chat.postMessage",
    read: "2026-11-27",
  },
  "task-update-length": {
    says: "Texts of a `task_update` have at most 256 characters.",
    page: "https://docs.slack.dev/reference/methods/chat.appendStream",
    read: "2026-11-27",
  },
} as const satisfies Record<string, Rule>;
