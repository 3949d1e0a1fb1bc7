/** How people, channels, messages and files look on the wire: in answers of methods and inside events. */
import type { Channel, Person, SlackState, StoredFile, StoredMessage } from "./state.ts";
import type { JsonObject } from "./wire.ts";

/** Of another organisation, and in no conversation that the app is in: the field says so, and only then. */
function isUnknown(state: SlackState, person: Person): boolean {
  const isMet = [...state.channels.values()].some(
    (channel) => channel.members.has(person.id) && channel.members.has(state.app.botUserId),
  );
  return person.isStranger && !isMet;
}

export function userJson(state: SlackState, person: Person, hasEmailScope: boolean): JsonObject {
  return {
    id: person.id,
    team_id: person.teamId,
    name: person.name,
    deleted: person.isDeleted,
    ...(person.isDeleted
      ? {}
      : { color: "9f69e7", tz: person.timeZone, tz_label: "Central European Time", tz_offset: 3600 }),
    real_name: person.displayName,
    profile: {
      real_name: person.displayName,
      real_name_normalized: person.displayName,
      display_name: person.displayName,
      display_name_normalized: person.displayName,
      team: person.teamId,
      ...(person.botId === undefined ? {} : { bot_id: person.botId, api_app_id: "" }),
      ...(hasEmailScope && !person.isBot ? { email: `${person.name}@example.com` } : {}),
    },
    is_admin: person.isAdmin,
    is_owner: false,
    is_primary_owner: false,
    is_restricted: person.isGuest || person.isSingleChannelGuest,
    is_ultra_restricted: person.isSingleChannelGuest,
    is_bot: person.isBot,
    is_app_user: false,
    updated: 0,
    ...(person.isStranger ? { is_stranger: isUnknown(state, person) } : {}),
  };
}

export function channelJson(state: SlackState, channel: Channel): JsonObject {
  const base: JsonObject = {
    id: channel.id,
    created: channel.created,
    is_archived: channel.isArchived,
    is_im: channel.type === "im",
    is_org_shared: false,
    context_team_id: state.team.id,
    updated: channel.created * 1000,
  };
  if (channel.type === "im") {
    const user = [...channel.members].find((member) => member !== state.app.botUserId) ?? "";
    return { ...base, user, is_user_deleted: state.people.get(user)?.isDeleted ?? false, priority: 0 };
  }
  return {
    ...base,
    name: channel.name,
    name_normalized: channel.name,
    is_channel: channel.type === "channel",
    is_group: channel.type === "group",
    is_mpim: channel.type === "mpim",
    is_private: channel.type !== "channel",
    is_general: channel.name === "general",
    is_member: channel.members.has(state.app.botUserId),
    is_shared: channel.isShared || channel.isOrgShared,
    is_ext_shared: channel.isShared,
    is_org_shared: channel.isOrgShared,
    is_pending_ext_shared: false,
    creator: "U0SLACKBOT",
    shared_team_ids: [state.team.id],
    topic: { value: "", creator: "", last_set: 0 },
    purpose: { value: "", creator: "", last_set: 0 },
    num_members: channel.members.size,
  };
}

export function fileJson(state: SlackState, file: StoredFile): JsonObject {
  const url = `${state.url}/files-pri/${state.team.id}-${file.id}/${encodeURIComponent(file.name)}`;
  const extension = /\.(\w+)$/.exec(file.name)?.[1]?.toLowerCase() ?? "text";
  return {
    id: file.id,
    created: file.created,
    timestamp: file.created,
    name: file.name,
    title: file.title,
    mimetype: file.mimetype,
    filetype: extension,
    pretty_type: extension.toUpperCase(),
    user: file.userId,
    user_team: state.team.id,
    editable: false,
    size: file.content.length,
    mode: "hosted",
    is_external: false,
    external_type: "",
    is_public: false,
    public_url_shared: false,
    display_as_bot: false,
    username: "",
    url_private: url,
    url_private_download: url,
    permalink: `${state.url}/files/${file.userId}/${file.id}`,
    file_access: "visible",
    channels: file.shares.map((share) => share.channel),
    groups: [],
    ims: [],
    ...(file.clipMs === undefined ? {} : clipFields(file.clipMs)),
    ...(file.isCanvas === true ? canvasFields : {}),
  };
}

const canvasFields = { mode: "quip", filetype: "quip", pretty_type: "Canvas", mimetype: "application/vnd.slack-docs" };

function clipFields(duration_ms: number): JsonObject {
  const transcription = { status: "processing" };
  return { subtype: "slack_audio", media_display_type: "audio", duration_ms, transcription };
}

/** Parents have their thread's fields; metadata only on request. */
export function messageJson(state: SlackState, message: StoredMessage, withMetadata = true): JsonObject {
  const isOurs = message.user === state.app.botUserId;
  const author = state.people.get(message.user);
  return {
    type: "message",
    ...(message.subtype === undefined ? {} : { subtype: message.subtype }),
    ...(message.isWebhook === true ? {} : { user: message.user }),
    ...(message.botId === undefined ? {} : botFields(state, message, isOurs)),
    ...(message.username === undefined ? {} : { username: message.username }),
    ...(message.clientMessageId === undefined ? {} : { client_msg_id: message.clientMessageId }),
    text: message.text,
    team: author?.teamId ?? state.team.id,
    ...(author?.isStranger === true ? foreignFields(author) : {}),
    ts: message.ts,
    ...(message.blocks.length === 0 ? {} : { blocks: message.blocks }),
    ...(message.attachments.length === 0 ? {} : { attachments: message.attachments }),
    ...filesField(state, message),
    ...(message.edited === undefined ? {} : { edited: message.edited }),
    ...(withMetadata && message.metadata !== undefined ? { metadata: message.metadata } : {}),
    ...(message.stream === undefined ? {} : { streaming_state: message.stream.state }),
    ...(message.reactions.length === 0
      ? {}
      : { reactions: message.reactions.map((reaction) => ({ ...reaction, count: reaction.users.length })) }),
    ...threadFields(state, message),
    ...message.extra,
  };
}

/** What messages from other organisations carry besides. */
function foreignFields(author: Person): JsonObject {
  return {
    user_team: author.teamId,
    source_team: author.teamId,
    user_profile: {
      name: author.name,
      real_name: author.displayName,
      display_name: author.displayName,
      team: author.teamId,
      is_restricted: false,
      is_ultra_restricted: false,
    },
  };
}

function botFields(state: SlackState, message: StoredMessage, isOurs: boolean): JsonObject {
  const name = state.people.get(message.user)?.displayName ?? "bot";
  return {
    bot_id: message.botId ?? "",
    ...(isOurs ? { app_id: state.app.id } : {}),
    bot_profile: {
      id: message.botId ?? "",
      ...(isOurs ? { app_id: state.app.id } : {}),
      name,
      deleted: false,
      updated: 0,
      team_id: state.team.id,
    },
  };
}

function filesField(state: SlackState, message: StoredMessage): JsonObject {
  if (message.fileIds.length === 0) return {};
  // In channels shared with other organisations the app gets the id alone, and asks files.info for the rest.
  const isShared = state.channels.get(message.channel)?.isShared === true;
  const files = message.fileIds.flatMap((id) => {
    const file = state.files.get(id);
    if (file === undefined) return [];
    return [isShared ? { id, mode: "file_access", file_access: "check_file_info" } : fileJson(state, file)];
  });
  return { files, upload: false, display_as_bot: false };
}

export function repliesOf(state: SlackState, channel: string, ts: string): StoredMessage[] {
  return state.messages.filter(
    (message) =>
      message.channel === channel && message.threadTs === ts && message.ts !== ts && message.onlyFor === undefined,
  );
}

function threadFields(state: SlackState, message: StoredMessage): JsonObject {
  if (message.threadTs !== undefined) {
    const parent = state.message(message.channel, message.threadTs);
    return { thread_ts: message.threadTs, ...(parent === undefined ? {} : { parent_user_id: parent.user }) };
  }
  const replies = repliesOf(state, message.channel, message.ts);
  const latest = replies.at(-1);
  if (latest === undefined) return {};
  const users = [...new Set(replies.map((reply) => reply.user))];
  return {
    thread_ts: message.ts,
    reply_count: replies.length,
    reply_users_count: users.length,
    latest_reply: latest.ts,
    reply_users: users,
    is_locked: false,
    subscribed: false,
  };
}
