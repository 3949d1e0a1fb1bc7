/** What a person sees: messages as their client shows them, and the effects of their markup. */
import { elementsOf } from "./block-elements.ts";
import { type Effect, effectsOf } from "./markup.ts";
import type { Channel, Notification, Person, SlackState, StoredFile, StoredMessage } from "./state.ts";
import { isObject, type JsonObject, objectsIn, outsideCode, unescapeText } from "./wire.ts";

export interface SeenMessage {
  ts: string;
  threadTs: string | undefined;
  userId: string;
  isAgents: boolean;
  subtype: string | undefined;
  /** The `text` field as it is stored, Slack's markup in it. */
  text: string;
  /** All that is readable: the blocks where there are any, else the text; markup as it is, entities resolved. */
  readable: string;
  blocks: JsonObject[];
  attachments: JsonObject[];
  metadata: JsonObject | undefined;
  buttons: { label: string; actionId: string; value: string | undefined; style: string | undefined }[];
  /** The options of its overflow menus. */
  options: { label: string; value: string }[];
  files: { name: string; title: string; content: string; bytes: Buffer; mimetype: string }[];
  isEphemeral: boolean;
  isEdited: boolean;
  streaming: "in_progress" | "completed" | "errored" | undefined;
  reactions: { name: string; users: string[] }[];
  effects: Effect[];
  /** Ids of the people and groups who were notified when the app posted it; `!channel` and the like for everybody. */
  pings: string[];
  /** What a notification of it said when the app posted it. */
  notification: Notification | undefined;
}

export interface Looking {
  in: Channel;
  /** Default: a person who sees no ephemeral messages. */
  as?: Person;
  /** The replies of one thread with their parent; default: the whole channel, replies too. */
  thread?: string;
}

export function seenMessages(state: SlackState, { in: channel, as: person, thread }: Looking): SeenMessage[] {
  return state.messages
    .filter((message) => message.channel === channel.id)
    .filter((message) => message.onlyFor === undefined || message.onlyFor === person?.id)
    .filter((message) => thread === undefined || message.ts === thread || message.threadTs === thread)
    .sort((one, other) => Number(one.ts) - Number(other.ts))
    .map((message) => seen(state, message));
}

function seen(state: SlackState, message: StoredMessage): SeenMessage {
  const now = { ...message };
  return {
    ts: message.ts,
    threadTs: message.threadTs,
    userId: message.user,
    isAgents: message.user === state.app.botUserId,
    subtype: message.subtype,
    text: message.text,
    readable: readableText(message),
    blocks: message.blocks,
    attachments: message.attachments,
    metadata: message.metadata,
    buttons: elementsOf(message.blocks).flatMap(({ element }) => buttonOf(element)),
    options: elementsOf(message.blocks).flatMap(({ element }) => optionsOf(element)),
    files: message.fileIds.flatMap((id) => fileOf(state.files.get(id))),
    isEphemeral: message.onlyFor !== undefined,
    isEdited: message.edited !== undefined,
    streaming: message.stream?.state,
    reactions: message.reactions,
    // Only when it is asked for: tests look every few milliseconds, and this parses Markdown.
    get effects() {
      return effectsOf(now);
    },
    pings: message.pings ?? [],
    notification: message.notification,
  };
}

function buttonOf(element: JsonObject): SeenMessage["buttons"] {
  if (element.type !== "button") return [];
  const label = isObject(element.text) ? String(element.text.text) : "";
  const value = typeof element.value === "string" ? element.value : undefined;
  const style = typeof element.style === "string" ? element.style : undefined;
  return [{ label, actionId: String(element.action_id ?? ""), value, style }];
}

function optionsOf(element: JsonObject): SeenMessage["options"] {
  if (element.type !== "overflow") return [];
  return objectsIn(element.options).map(({ text, value }) => ({
    label: isObject(text) ? String(text.text) : "",
    value: String(value ?? ""),
  }));
}

function fileOf(file: StoredFile | undefined): SeenMessage["files"] {
  if (file === undefined) return [];
  const { name, title, mimetype, content } = file;
  return [
    {
      ...{ name, title, mimetype, bytes: content },
      // Only when it is asked for: tests look every few milliseconds, and files can be large.
      get content() {
        return content.toString();
      },
    },
  ];
}

export function readableText(message: StoredMessage): string {
  const fromBlocks = message.blocks.flatMap(textsIn);
  const fromAttachments = message.attachments.flatMap((attachment) =>
    [attachment.pretext, attachment.title, attachment.text].filter((text) => typeof text === "string"),
  );
  const own = fromBlocks.length > 0 ? fromBlocks : [unescapeText(message.text)];
  return [...own, ...fromAttachments].filter((text) => text !== "").join("\n");
}

/** All that is readable in a modal: its blocks, labels and options. */
export function readableView(view: JsonObject): string {
  return objectsIn(view.blocks).flatMap(textsIn).join("\n");
}

/** The words of the first block that has any. Mentions count as the names that people see. */
export function firstWords(state: SlackState, blocks: JsonObject[]): string {
  const [first = ""] = blocks.map((block) => textsIn(named(state, block)).join(" ").trim()).filter(Boolean);
  return first;
}

function named(state: SlackState, value: JsonObject): JsonObject {
  if (value.type === "user") return text(`@${state.people.get(String(value.user_id))?.displayName}`);
  if (value.type === "usergroup") return text(`@${state.groups.get(String(value.usergroup_id))?.handle}`);
  if (value.type === "channel") return text(`#${state.channels.get(String(value.channel_id))?.name}`);
  const elements = objectsIn(value.elements);
  return elements.length === 0 ? value : { ...value, elements: elements.map((each) => named(state, each)) };
}

function text(words: string): JsonObject {
  return { type: "text", text: words };
}

/** Every text of a block in its order, also of buttons and tables. */
function textsIn(block: JsonObject): string[] {
  // Clients show the elements of a section in one line, and a date in the reader's zone instead of the fallback.
  if (block.type === "rich_text_section") return [objectsIn(block.elements).flatMap(textsIn).join("")];
  if (block.type === "date") return [String(block.fallback ?? "")];
  if (block.type === "markdown") {
    return [outsideCode(String(block.text), (part, isCode) => (isCode ? part : unescapeText(part)))];
  }
  return Object.entries(block).flatMap(([key, value]) => {
    if (key === "block_id" || key === "action_id" || key === "value" || key === "confirm") return [];
    if (isTextObject(value)) return [value.type === "mrkdwn" ? unescapeText(String(value.text)) : String(value.text)];
    if (key === "text" && typeof value === "string") {
      return [block.type === "mrkdwn" ? unescapeText(value) : value];
    }
    if (Array.isArray(value))
      return value.some(Array.isArray)
        ? value.flatMap((row) => objectsIn(row).flatMap(textsIn))
        : objectsIn(value).flatMap(textsIn);
    return isObject(value) ? textsIn(value) : [];
  });
}

function isTextObject(value: unknown): value is JsonObject {
  return isObject(value) && (value.type === "mrkdwn" || value.type === "plain_text");
}
