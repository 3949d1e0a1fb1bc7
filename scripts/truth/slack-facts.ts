/**
 * What we rely on in Slack's SDKs. Our calls go through one untyped function, so the compiler knows neither the methods nor
 * their fields: a test compares this list with the methods that the code calls. No package on npm carries Slack's list of
 * errors or limits; `test/doubles/slack/` has those, with their pages. The manifest's specification is in @slack/web-api.
 */
import type { Fact } from "./facts.ts";

const api = (type: string, at: string, uses: readonly string[] = []): Fact => ({
  ...{ sdk: "@slack/web-api", type: `SlackApi.${type}` },
  ...{ at, uses },
});
const types = (type: string, at: string, uses: readonly string[] = []): Fact => ({
  ...{ sdk: "@slack/types", type: `SlackTypes.${type}` },
  ...{ at, uses },
});

const platform = "src/platforms/slack";
const manifest = "slack/manifest.yaml";

/** `chat.postMessage` has its fields in `ChatPostMessageArguments`. */
function argumentsOf(method: string): string {
  return `${method.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}Arguments`;
}

const thread = ["channel_id", "thread_ts"];
const page = ["channel", "limit", "oldest", "latest", "inclusive", "include_all_metadata"];

/** The fields that we send, by method. */
export const calls: Readonly<Record<string, { in: string; sends: readonly string[] }>> = {
  "agents.sessions.rename": { in: "outbound/agent-sessions.ts", sends: [...thread, "title"] },
  "agents.sessions.setStatus": {
    in: "outbound/agent-sessions.ts",
    sends: [...thread, "status", "title", "initiator_user_id"],
  },
  "apps.connections.open": { in: "doctor.ts", sends: [] },
  "assistant.threads.setStatus": { in: "outbound/agent-sessions.ts", sends: [...thread, "status"] },
  "assistant.threads.setSuggestedPrompts": { in: "outbound/assistant-pane.ts", sends: [...thread, "prompts"] },
  "assistant.threads.setTitle": { in: "outbound/assistant-pane.ts", sends: [...thread, "title"] },
  "auth.test": { in: "api/identity.ts", sends: [] },
  "bots.info": { in: "doctor-tokens.ts", sends: ["bot"] },
  "chat.appendStream": { in: "outbound/native-stream.ts", sends: ["channel", "ts", "markdown_text", "chunks"] },
  "chat.delete": { in: "outbound/message-sender.ts", sends: ["channel", "ts"] },
  "chat.postEphemeral": {
    in: "outbound/ephemeral-reply.ts",
    sends: ["channel", "user", "thread_ts", "text", "blocks"],
  },
  "chat.postMessage": {
    in: "outbound/message-sender.ts",
    sends: ["channel", "thread_ts", "text", "blocks", "metadata", "unfurl_links", "unfurl_media"],
  },
  "chat.startStream": {
    in: "outbound/native-stream-policy.ts",
    sends: [
      ...["channel", "thread_ts", "recipient_user_id", "recipient_team_id", "markdown_text", "chunks"],
      "task_display_mode",
    ],
  },
  "chat.stopStream": {
    in: "outbound/native-stream.ts",
    sends: ["channel", "ts", "metadata", "markdown_text", "chunks", "blocks", "session_status"],
  },
  "chat.update": { in: "outbound/message-sender.ts", sends: ["channel", "ts", "text", "blocks", "metadata"] },
  "conversations.history": { in: "inbound/earlier.ts", sends: page },
  "conversations.info": { in: "outbound/reach.ts", sends: ["channel"] },
  "conversations.list": { in: "history-limit.ts", sends: ["types", "exclude_archived", "limit", "cursor"] },
  "conversations.members": { in: "outbound/chat-access.ts", sends: ["channel", "limit", "cursor"] },
  "conversations.open": { in: "api/direct-message.ts", sends: ["users"] },
  "conversations.replies": { in: "inbound/read-thread.ts", sends: [...page, "ts"] },
  "files.completeUploadExternal": { in: "outbound/files-out.ts", sends: [...thread, "files"] },
  "files.getUploadURLExternal": { in: "outbound/files-out.ts", sends: ["filename", "length"] },
  "files.info": { in: "inbound/attachments.ts", sends: ["file"] },
  "reactions.add": { in: "outbound/chat-actions.ts", sends: ["channel", "timestamp", "name"] },
  "reactions.remove": { in: "outbound/acknowledgement.ts", sends: ["channel", "timestamp", "name"] },
  "search.messages": { in: "outbound/message-search.ts", sends: ["query", "count", "sort"] },
  "usergroups.list": { in: "api/people.ts", sends: ["include_users"] },
  "users.conversations": { in: "inbound/missed.ts", sends: ["types", "exclude_archived", "limit", "cursor"] },
  "users.info": { in: "api/people.ts", sends: ["user"] },
  "views.open": { in: "api/views.ts", sends: ["trigger_id", "view"] },
  "views.publish": { in: "outbound/home.ts", sends: ["user_id", "view"] },
  "views.update": { in: "api/views.ts", sends: ["view_id", "view"] },
};

/** Methods of Slack's pages that its SDK has no types for, so that nothing here tells when they change. */
export const untypedCalls: readonly string[] = ["assistant.search.context"];

/** Each family whose methods we call, by its place in the client: new methods stand there. */
function families(): Fact[] {
  const byFamily = Map.groupBy(Object.keys(calls), (method) => method.split(".").slice(0, -1).join("."));
  return [...byFamily].map(([family, methods]) => {
    const place = family.split(".").map((part) => `["${part}"]`);
    const uses = methods.map((method) => method.split(".").at(-1) ?? "");
    return api(`WebClient${place.join("")}`, `${platform}/api/api.ts`, uses);
  });
}

/** What Slack's documentation has and the types of the manifest lack: scopes and events. */
export const notInManifestTypes: readonly string[] = [
  "agent_session_stopped",
  "agent_session_title_changed",
  "assistant:write",
  "search:read.public",
];

/** A section of the manifest, or what its list holds: `features.agent_view`, `oauth_config.scopes.bot[]`. */
function inManifest(path: string, uses: readonly string[]): Fact {
  const keys = path.replace("[]", "");
  const start = 'AppsManifestCreateArguments["manifest"]';
  const type = keys.split(".").reduce((section, key) => `NonNullable<${section}["${key}"]>`, `SlackApi.${start}`);
  return { ...{ sdk: "@slack/web-api", type: keys === path ? type : `${type}[number]` }, ...{ at: manifest, uses } };
}

export const slackFacts: readonly Fact[] = [
  // A method without fields of its own has none to compare.
  ...Object.entries(calls)
    .filter(([, { sends }]) => sends.length > 0)
    .map(([method, { in: place, sends }]) => api(argumentsOf(method), `${platform}/${place}`, sends)),
  ...families(),
  api("Methods", `${platform}/api/api.ts`),

  inManifest("features", ["agent_view", "app_home", "bot_user", "slash_commands"]),
  inManifest("features.agent_view", ["agent_description"]),
  inManifest("settings", [
    ...["event_subscriptions", "interactivity", "org_deploy_enabled", "socket_mode_enabled", "token_rotation_enabled"],
  ]),
  inManifest("oauth_config.scopes.bot[]", [
    ...["app_mentions:read", "channels:history", "channels:read", "chat:write", "commands"],
    ...["files:read", "files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write"],
    ...["mpim:history", "mpim:read", "reactions:write", "usergroups:read", "users:read"],
  ]),
  inManifest("settings.event_subscriptions.bot_events[]", [
    ...["app_context_changed", "app_home_opened", "app_mention", "app_uninstalled", "message.channels"],
    ...["message.groups", "message.im", "message.mpim", "subteam_created", "subteam_members_changed"],
    ...["subteam_updated", "tokens_revoked"],
  ]),

  types('KnownBlock["type"]', `${platform}/outbound/cards/`, [
    ...["actions", "context", "context_actions", "divider", "header", "input", "markdown", "rich_text", "section"],
  ]),
  types('ActionsBlockElement["type"]', `${platform}/outbound/cards/`, ["button", "overflow"]),
  types('InputBlockElement["type"]', `${platform}/interactions/`, [
    "checkboxes",
    "file_input",
    "plain_text_input",
    "users_select",
  ]),
  types('ContextActionsBlockElement["type"]', `${platform}/outbound/`, ["feedback_buttons"]),
  types("Button", `${platform}/outbound/buttons.ts`, ["type", "text", "action_id", "value", "style"]),
  types("PlainTextInput", `${platform}/interactions/`, [
    "type",
    "action_id",
    "initial_value",
    "multiline",
    "max_length",
  ]),
  types("FileInput", `${platform}/interactions/`, ["type", "max_files", "filetypes"]),
  types("ModalView", `${platform}/api/views.ts`, ["type", "title", "blocks", "submit", "close", "private_metadata"]),
  types('AnyChunk["type"]', `${platform}/outbound/stream-tasks.ts`, ["markdown_text", "plan_update", "task_update"]),
  types("TaskUpdateChunk", `${platform}/outbound/stream-tasks.ts`, ["type", "id", "title", "status"]),
  types('TaskUpdateChunk["status"]', `${platform}/outbound/stream-tasks.ts`, ["in_progress", "complete", "error"]),
  types("MessageMetadata", `${platform}/outbound/message-sender.ts`, ["event_type", "event_payload"]),
  types('SlackEvent["type"]', `${platform}/inbound/listeners.ts`, [
    ...[
      "agent_session_stopped",
      "agent_session_title_changed",
      "app_context_changed",
      "app_home_opened",
      "app_mention",
      "app_uninstalled",
      "assistant_thread_started",
    ],
    ...["message", "subteam_created", "subteam_members_changed", "subteam_updated", "tokens_revoked"],
  ]),
  types("AgentSessionStoppedEvent", `${platform}/outbound/assistant-pane.ts`, ["channel", "user", "thread_ts"]),
  types("GenericMessageEvent", `${platform}/inbound/`, [
    ...["type", "subtype", "channel", "channel_type", "user", "bot_id", "text", "ts", "thread_ts", "files"],
  ]),
  types("AppMentionEvent", `${platform}/inbound/`, ["type", "user", "text", "ts", "channel", "thread_ts"]),
  types('AllMessageEvents["subtype"]', `${platform}/inbound/`),
];
