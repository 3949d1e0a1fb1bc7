/** chat.postMessage, postEphemeral, update, delete, getPermalink. */
import type { Call, Method } from "./api-call.ts";
import {
  channelFor,
  checkHasContent,
  checkMayPost,
  droppedMetadata,
  type Posting,
  readContent,
  threadFor,
  threadForPost,
} from "./posting.ts";
import type { SlackError } from "./rules.ts";
import { messageJson } from "./shapes.ts";
import { most } from "./sizes.ts";
import type { Channel, SlackState, StoredMessage } from "./state.ts";
import { escapeText, type JsonObject, SlackRefusal, unescapeText } from "./wire.ts";

export interface ChatTools {
  state: SlackState;
  posting: Posting;
  /** The DM with a person, opened if missing. Posting to a person's id goes there. */
  directMessage(userId: string): Channel;
}

export function chatMethods(tools: ChatTools): Record<string, Method> {
  const { state, posting } = tools;
  return {
    "chat.postMessage": (call) => post(tools, call),
    "chat.postEphemeral": (call) => postEphemeral(tools, call),
    "chat.update": (call) => update(tools, call),
    "chat.delete"(call) {
      const channel = channelFor(state, call.args.required("channel"));
      const message = ownMessage(state, channel, call.args.required("ts"), "cant_delete_message");
      posting.remove(message);
      return { channel: channel.id, ts: message.ts };
    },
    "chat.getPermalink"(call) {
      const channel = channelFor(state, call.args.required("channel"));
      const ts = call.args.required("message_ts");
      if (state.message(channel.id, ts) === undefined) throw new SlackRefusal("message_not_found");
      const permalink = `https://${state.team.domain}.slack.com/archives/${channel.id}/p${ts.replace(".", "")}`;
      return { channel: channel.id, permalink };
    },
  };
}

function post({ state, posting, directMessage }: ChatTools, call: Call): JsonObject {
  const id = call.args.required("channel");
  const channel = state.people.has(id) ? directMessage(id) : channelFor(state, id);
  checkMayPost(state, channel, call.args.text("thread_ts"));
  const content = readContent(call.args);
  checkHasContent(content);
  const threadTs = threadForPost(state, channel, call.args.text("thread_ts"));
  const message = posting.draft(channel, content, threadTs, call.args);
  if (threadTs !== undefined && call.args.flag("reply_broadcast") === true) message.isBroadcast = true;
  posting.post(message);
  return {
    ...{ channel: channel.id, ts: message.ts, message: messageJson(state, message) },
    ...droppedMetadata(call.args),
  };
}

function postEphemeral({ state, posting }: ChatTools, call: Call): JsonObject {
  const channel = channelFor(state, call.args.required("channel"));
  const user = call.args.required("user");
  checkMayPost(state, channel, call.args.text("thread_ts"));
  if (!channel.members.has(user)) throw new SlackRefusal("user_not_in_channel");
  const content = readContent(call.args);
  checkHasContent(content);
  const threadTs = threadFor(state, channel, call.args.text("thread_ts"));
  const message = { ...posting.draft(channel, content, threadTs, call.args), onlyFor: user };
  posting.post(message);
  return { message_ts: message.ts };
}

function update({ state, posting }: ChatTools, call: Call): JsonObject {
  const channel = channelFor(state, call.args.required("channel"));
  const message = ownMessage(state, channel, call.args.required("ts"), "cant_update_message");
  if (channel.isArchived) throw new SlackRefusal("is_inactive");
  if (message.stream?.state === "in_progress") throw new SlackRefusal("streaming_state_conflict");
  const content = readContent(call.args);
  const text = call.args.text("text") ?? "";
  if (storedBytes(text) > most("update-bytes")) throw new SlackRefusal("msg_too_long");
  checkHasContent(content);
  // What is not given is taken away, except metadata: a text-only update removes the blocks.
  posting.change(message, { ...content, edited: { user: state.app.botUserId, ts: state.ts() } });
  return { channel: channel.id, ts: message.ts, text: message.text, message: messageJson(state, message) };
}

/** Slack escapes `&`, `<` and `>` before it counts, and what is escaped already is not escaped again. */
function storedBytes(text: string): number {
  return Buffer.byteLength(escapeText(unescapeText(text)));
}

function ownMessage(state: SlackState, channel: Channel, ts: string, foreign: SlackError): StoredMessage {
  const message = state.message(channel.id, ts);
  if (message === undefined) throw new SlackRefusal("message_not_found");
  if (message.user !== state.app.botUserId) throw new SlackRefusal(foreign);
  return message;
}
