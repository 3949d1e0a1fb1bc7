/** What the double enforces, by the error that Slack answers with, or by a name of ours in kebab-case. */
import { type Rule, read } from "../rules.ts";
import { slackRefusals } from "./refusals.ts";
import { slackSizes } from "./sizes.ts";

const rule = read("2026-11-28");

export const slackRules = {
  ...slackRefusals,
  ...slackSizes,
  "agent-session-hour": rule(
    "https://docs.slack.dev/ai/agent-sessions",
    "`processing` ends by itself an hour after it was set, and a post does not end it.",
  ),
  "agent-session-of-a-stream": rule(
    "https://docs.slack.dev/ai/agent-sessions",
    "`chat.startStream` sets the session to `processing`, `chat.stopStream` to `session_status`, by default `active`.",
  ),
  "agent-session-stop-button": rule(
    "https://docs.slack.dev/reference/events/agent_session_stopped",
    "A click on stop ends the streams and leaves `processing`; the app has to set another state.",
  ),
  "agent-session-title": rule(
    "https://docs.slack.dev/reference/methods/agents.sessions.setStatus",
    "The title and the initiator of `agents.sessions.setStatus` count only when the call creates the session; colons become underscores (reported).",
  ),
  app_rate_limited: rule(
    "https://docs.slack.dev/reference/events/app_rate_limited",
    "Above 30,000 events of one workspace in an hour, Slack tells the app so once for each minute, and drops the events of that minute.",
  ),
  "assistant-threads-bridge": rule(
    "https://docs.slack.dev/ai/migrating-to-agent-messaging",
    "A text of `assistant.threads.setStatus` sets the session to `processing`, an empty one to `active`.",
  ),
  cannot_reply_to_message: rule(
    "https://docs.slack.dev/reference/methods/chat.postMessage",
    "Some messages, such as those of Slack itself, take no replies in a thread.",
  ),
  "context-comes-with-messages": rule(
    "https://docs.slack.dev/reference/events/app_context_changed",
    "With `agent_view` and `app_context_changed`, a message in a DM carries what its person looks at: entities with their workspace, most relevant first. The event names no person, and its context may be empty.",
  ),
  "desktop-notifications-read-blocks-first": rule(
    "https://docs.slack.dev/changelog/2026/07/13/notification-changes",
    "A desktop notification takes its text from the blocks, and from `text` only without any; a phone takes `text`.",
  ),
  "distributed-apps-read-less": rule(
    "https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps",
    "Apps that are sold outside of the Marketplace read 15 messages of a history or thread at once, and once a minute.",
  ),
  "dm-is-a-thread": rule(
    "https://docs.slack.dev/ai/developing-agents",
    "With `agent_view`, every DM with a person is a thread, and threads are listed as sessions.",
  ),
  "canvases-are-html": rule(
    "https://docs.slack.dev/surfaces/canvases",
    "A canvas is a file whose download is an HTML page; no method reads it.",
  ),
  "downloads-need-the-token": rule(
    "https://docs.slack.dev/reference/objects/file-object",
    "A file is downloaded with the app's token; without it a login page comes.",
  ),
  "events-are-tried-again": rule(
    "https://docs.slack.dev/apis/events-api",
    "An event without an acknowledgement within three seconds is sent again: at once, after one minute and after five.",
  ),
  "events-need-their-scope": rule(
    "https://docs.slack.dev/apis/events-api",
    "An app gets the events to which it subscribes, has the scope, and is where they happen.",
  ),
  feature_disabled: rule(
    "https://docs.slack.dev/ai/agent-sessions",
    "`agents.sessions.*` is refused for apps that are not declared as agents (the code is from reports).",
  ),
  "file-input": rule(
    "https://docs.slack.dev/reference/block-kit/block-elements/file-input-element",
    "A modal's upload takes 1 to 10 files, 10 by default, of at most 10 MB each. Its `filetypes` are a convenience: other kinds can come.",
  ),
  "guests-open-no-agent": rule(
    "https://docs.slack.dev/ai/developing-agents#members-only",
    "Guests of a workspace can't open apps that are agents.",
  ),
  invalid_action_token: rule(
    "https://docs.slack.dev/reference/methods/assistant.search.context",
    "The app's own token searches public channels as the person from whose message the action token is, for a short time.",
  ),
  "markup-notifies-in-code": rule(
    "https://github.com/PostHog/posthog/pull/95054",
    "Mentions and links form wherever their markup stands, in code too, and only `&lt;` keeps them from it.",
  ),
  "mentions-and-dms-bring-action-tokens": rule(
    "https://docs.slack.dev/apis/web-api/real-time-search-api#action-token",
    "`app_mention`, messages of DMs, group DMs and private channels, and mentions in public channels carry an action token.",
  ),
  "mentions-may-lack-files": rule(
    "https://docs.slack.dev/reference/events/app_mention",
    "Of a mention with a file, `app_mention` may come first and without files; `message` has them, up to seconds later (reported).",
  ),
  message_limit_exceeded: rule(
    "https://docs.slack.dev/reference/methods/chat.postMessage",
    "People of a free workspace send too many messages, and for a while it takes no more of them.",
  ),
  messages_tab_disabled: rule(
    "https://docs.slack.dev/reference/methods/chat.postMessage",
    "The app's direct messages are turned off in its settings.",
  ),
  "metadata-event-type": rule(
    "https://github.com/slackapi/bolt-python/issues/863",
    "Metadata whose `event_type` has a dot is left away, and the message is posted without it.",
  ),
  "method-errors": rule(
    "https://github.com/slack-ruby/slack-api-ref/tree/f4837c0cb6dba1b1122ce66a5b69195ce47213f8/docs.slack.dev/methods",
    "Each method documents the errors that it may answer with.",
  ),
  "method-scopes": rule("https://docs.slack.dev/reference/methods", "Each method needs the scope on its page."),
  "method-tiers": rule(
    "https://docs.slack.dev/apis/web-api/rate-limits",
    "A method may be called as often as its tier says: 1, 20, 50 or 100 times a minute; one message a second in a channel.",
  ),
  method_deprecated: read("2026-11-27")(
    "https://docs.slack.dev/changelog/2026/08/20/agent-updates",
    "`assistant.threads.setStatus` and `.setTitle` go with `assistant_view`, in February 2027.",
  ),
  missing_agent_session_stopped_event_subscription: rule(
    "https://docs.slack.dev/reference/events/agent_session_stopped",
    "Without that event, `agents.sessions.setStatus` succeeds with this warning, and people see no stop button.",
  ),
  rate_limited: rule(
    "https://docs.slack.dev/reference/methods/chat.postMessage",
    "An app that has posted too many messages is refused with this error in an answer with HTTP 200, too.",
  ),
  "reply-without-its-root": rule(
    "https://github.com/slack-go/slack/issues/1571",
    "A reply to a message that was deleted, and had no other replies, is posted at top level, and its answer has no `thread_ts`; tests can have it refused.",
  ),
  "requests-are-signed": rule(
    "https://docs.slack.dev/authentication/verifying-requests-from-slack",
    "A request has a signature and a time; one that is older than five minutes is not to be trusted.",
  ),
  "response-urls-need-no-token": rule(
    "https://docs.slack.dev/interactivity/handling-user-interaction",
    "A response URL posts without a token, to the person alone unless the response says otherwise.",
  ),
  restricted_action_non_threadable_channel: rule(
    "https://docs.slack.dev/reference/methods/chat.postMessage",
    "A channel whose policy forbids threads refuses a post with `thread_ts`.",
  ),
  restricted_action_thread_only_channel: rule(
    "https://docs.slack.dev/reference/methods/chat.postMessage",
    "A channel whose policy allows replies only refuses a post without `thread_ts`.",
  ),
  "search-from-a-shared-channel": rule(
    "https://docs.slack.dev/apis/web-api/real-time-search-api#public-channels",
    "A search from a Slack Connect channel finds only what is in that channel, and guests can't search at all.",
  ),
  "search-sees-what-its-person-sees": rule(
    "https://docs.slack.dev/reference/methods/search.messages",
    "A search finds what the person sees to whom the token belongs.",
  ),
  "sockets-share-envelopes": rule(
    "https://docs.slack.dev/apis/events-api/using-socket-mode",
    "An app has ten sockets at most, and each envelope goes to one of them.",
  ),
  "status-goes-by-itself": rule(
    "https://docs.slack.dev/reference/methods/assistant.threads.setStatus",
    "The status of a thread goes when the app answers there, and after two minutes.",
  ),
  "status-stands-in-any-thread": rule(
    "https://docs.slack.dev/reference/methods/assistant.threads.setStatus",
    "A status may stand in any thread with the scope to write.",
  ),
  "stream-holds-12000-bytes": rule(
    "https://github.com/openclaw/openclaw/pull/143882",
    "A streamed message holds 12,000 bytes of text, and about 10,600 beside task cards.",
  ),
  "stream-lasts-five-minutes": rule(
    "https://github.com/slackapi/node-slack-sdk/issues/2702",
    "A stream ends by itself about five minutes after it began.",
  ),
  "streams-show-tables": rule(
    "https://github.com/vercel/chat/pull/349",
    "Tables in the `markdown_text` of a stream and in `markdown` blocks are shown as tables, while it runs and afterwards.",
  ),
  "task-update-length": rule(
    "https://github.com/vercel/chat/pull/886",
    "Texts of a `task_update` have 256 characters at most on the page, which the double keeps; somebody measured that Slack takes 40,000.",
  ),
  "text-is-cut": rule(
    "https://docs.slack.dev/reference/methods/chat.postMessage#truncating",
    "A message of more than 40,000 characters is cut, not refused.",
  ),
  "uploads-take-three-steps": rule(
    "https://docs.slack.dev/messaging/working-with-files",
    "A file is uploaded by asking for an address, posting the bytes there, and completing the upload.",
  ),
} as const satisfies Record<string, Rule>;

/** What the double may refuse with. An error without a rule does not compile: add its rule. */
export type SlackError = Exclude<keyof typeof slackRules, `${string}-${string}`>;
