/**
 * chat.startStream, appendStream, stopStream: a message that grows in a thread and ends by itself five minutes after it
 * began, whatever is appended meanwhile.
 *
 * How much one streamed message holds stands on no page. Users measured bytes: 12,000 of text, about 10,600 as soon as
 * there are task cards, whose details and outputs count twice (CopilotKit#6064, openclaw#143882).
 * Rules: agent-session-of-a-stream, stream-holds-12000-bytes, stream-lasts-five-minutes, task-update-length
 */
import type { Call, Method } from "./api-call.ts";
import { checkBlocks } from "./block-rules.ts";
import type { Delivery } from "./delivery.ts";
import { channelFor, checkMayPost, droppedMetadata, type Posting, readMetadata, threadFor } from "./posting.ts";
import { isStatus, type Sessions } from "./sessions.ts";
import type { Channel, SlackState, StoredMessage, Stream } from "./state.ts";
import { type Arguments, invalid, isObject, type JsonObject, objectsIn, SlackRefusal } from "./wire.ts";

const lifeMs = 5 * 60_000;
const markdownLimit = 12_000;
const textBytes = 12_000;
const bytesWithTasks = 10_600;
const taskTextLimit = 256;

export interface Streams {
  methods: Record<string, Method>;
  /** The person presses stop: nothing more may be appended. The session stays as it is. Rule: agent-session-stop-button */
  stopByPerson(message: StoredMessage): Delivery[];
}

export function createStreams(state: SlackState, posting: Posting, sessions: Pick<Sessions, "set">): Streams {
  const stopped = new WeakSet<StoredMessage>();
  const ends = new WeakMap<StoredMessage, () => void>();

  function end(
    message: StoredMessage,
    outcome: "completed" | "errored",
    change: Partial<StoredMessage> = {},
  ): Delivery[] {
    ends.get(message)?.();
    if (message.stream === undefined) return [];
    return posting.change(message, { ...change, stream: { ...message.stream, state: outcome } });
  }

  function start(call: Call): JsonObject {
    const { args } = call;
    const channel = channelFor(state, args.required("channel"));
    const asked = args.required("thread_ts");
    checkMayPost(state, channel, asked);
    const recipient = readRecipient(state, channel, args);
    const threadTs = threadFor(state, channel, asked);
    const mode = args.text("task_display_mode") ?? "timeline";
    if (mode !== "timeline" && mode !== "plan") throw invalid("invalid_arguments", "must be one of: timeline, plan");
    const chunks = readChunks(args);
    const stream: Stream = {
      state: "in_progress",
      startedAt: state.clock.now(),
      ...(recipient === undefined ? {} : { recipient }),
      chunks,
    };
    const draft = posting.draft(channel, { text: "", blocks: [], attachments: [] }, threadTs, args);
    // Nothing turns off the previews of a stream.
    const message = { ...draft, parse: { ...draft.parse, unfurlLinks: true, unfurlMedia: true }, stream };
    checkSize(chunks);
    Object.assign(message, contentOf(chunks));
    posting.post(message);
    ends.set(
      message,
      state.clock.after(lifeMs, () => end(message, "errored")),
    );
    sessions.set(channel.id, threadTs ?? asked, "processing", "chat.startStream", { initiator: recipient });
    return { channel: channel.id, ts: message.ts };
  }

  /** The message with the chunks of this call added to its own. */
  function running(call: Call): { channel: Channel; message: StoredMessage; stream: Stream; chunks: JsonObject[] } {
    const channel = channelFor(state, call.args.required("channel"));
    const message = state.message(channel.id, call.args.required("ts"));
    if (message === undefined) throw new SlackRefusal("message_not_found");
    if (message.user !== state.app.botUserId) throw new SlackRefusal("message_not_owned_by_app");
    if (stopped.has(message)) throw new SlackRefusal("stopped_by_user");
    checkMayPost(state, channel, message.threadTs);
    const stream = message.stream;
    if (stream?.state !== "in_progress") throw new SlackRefusal("message_not_in_streaming_state");
    const chunks = [...stream.chunks, ...readChunks(call.args)];
    checkSize(chunks);
    return { channel, message, stream, chunks };
  }

  return {
    methods: {
      "chat.startStream": start,
      "chat.appendStream"(call) {
        const { channel, message, stream, chunks } = running(call);
        if (chunks.length === stream.chunks.length) throw new SlackRefusal("no_text");
        // Slack sends no event for what is appended, one when the stream ends.
        posting.change(message, { ...contentOf(chunks), stream: { ...stream, chunks } }, true);
        return { channel: channel.id, ts: message.ts };
      },
      "chat.stopStream"(call) {
        const { channel, message, stream, chunks } = running(call);
        const rawBlocks = call.args.json("blocks", "invalid_blocks_format");
        const blocks = rawBlocks === undefined ? [] : checkBlocks(rawBlocks);
        const metadata = readMetadata(call.args);
        const status = call.args.text("session_status") ?? "active";
        if (!isStatus(status)) throw invalid("invalid_arguments", "must be a valid enum value");
        const content = contentOf(chunks);
        message.stream = { ...stream, chunks };
        end(message, "completed", {
          ...content,
          blocks: [...content.blocks, ...blocks],
          ...(metadata === undefined ? {} : { metadata }),
        });
        sessions.set(channel.id, message.threadTs ?? message.ts, status, "chat.stopStream");
        return { channel: channel.id, ts: message.ts, ...droppedMetadata(call.args) };
      },
    },
    stopByPerson(message) {
      stopped.add(message);
      return end(message, "completed");
    },
  };
}

function readRecipient(state: SlackState, channel: Channel, args: Arguments): string | undefined {
  const userId = args.text("recipient_user_id");
  const teamId = args.text("recipient_team_id");
  if (channel.type !== "im") {
    if (userId === undefined) throw new SlackRefusal("missing_recipient_user_id");
    if (teamId === undefined) throw new SlackRefusal("missing_recipient_team_id");
  }
  const person = userId === undefined ? undefined : state.people.get(userId);
  if (userId !== undefined && person === undefined) throw new SlackRefusal("user_not_found");
  if (teamId !== undefined && person !== undefined && teamId !== person.teamId)
    throw new SlackRefusal("team_not_found");
  return userId;
}

function readChunks(args: Arguments): JsonObject[] {
  const text = args.text("markdown_text");
  const raw = args.json("chunks", "invalid_chunks");
  if (text !== undefined && raw !== undefined) {
    throw invalid("invalid_arguments", "markdown_text and chunks cannot be used together");
  }
  if (text !== undefined) {
    if (text.length > markdownLimit) throw new SlackRefusal("msg_too_long");
    return text === "" ? [] : [{ type: "markdown_text", text }];
  }
  if (raw !== undefined && !Array.isArray(raw)) throw new SlackRefusal("invalid_chunks");
  for (const chunk of raw ?? []) checkChunk(chunk);
  return objectsIn(raw);
}

const taskStates = ["pending", "in_progress", "complete", "error"];

function checkChunk(chunk: unknown): void {
  if (!isObject(chunk)) throw new SlackRefusal("invalid_chunks");
  switch (chunk.type) {
    case "markdown_text":
      if (typeof chunk.text !== "string") throw invalid("invalid_chunks", "missing required field: text");
      if (chunk.text.length > markdownLimit) throw new SlackRefusal("msg_too_long");
      break;
    case "task_update":
      if (
        typeof chunk.id !== "string" ||
        typeof chunk.title !== "string" ||
        !taskStates.includes(String(chunk.status))
      ) {
        throw invalid("invalid_chunks", "task_update needs id, title and status");
      }
      for (const part of [chunk.title, chunk.details, chunk.output])
        if (typeof part === "string" && part.length > taskTextLimit)
          throw invalid("invalid_chunks", "must be at most 256 characters");
      break;
    case "plan_update":
      if (typeof chunk.title !== "string") throw invalid("invalid_chunks", "missing required field: title");
      break;
    case "blocks":
      checkBlocks(chunk.blocks);
      break;
    default:
      throw invalid("invalid_chunks", `unsupported type: ${String(chunk.type)}`);
  }
}

function checkSize(chunks: JsonObject[]): void {
  const bytes = (value: unknown) => (typeof value === "string" ? Buffer.byteLength(value) : 0);
  const tasks = tasksOf(chunks);
  const text = chunks.reduce((sum, chunk) => sum + (chunk.type === "markdown_text" ? bytes(chunk.text) : 0), 0);
  const cards = tasks.reduce(
    (sum, task) => sum + bytes(task.title) + 2 * (bytes(task.details) + bytes(task.output)),
    0,
  );
  if (text + cards > (tasks.length > 0 ? bytesWithTasks : textBytes) && text > 0)
    throw new SlackRefusal("msg_too_long");
  if (tasks.length > 50) throw new SlackRefusal("msg_blocks_too_many");
}

/** The newest state of every task, in the order in which they came. */
function tasksOf(chunks: JsonObject[]): JsonObject[] {
  const tasks = new Map<unknown, JsonObject>();
  for (const chunk of chunks) {
    if (chunk.type === "task_update") tasks.set(chunk.id, { ...tasks.get(chunk.id), ...chunk });
  }
  return [...tasks.values()];
}

function contentOf(chunks: JsonObject[]): { text: string; blocks: JsonObject[] } {
  const text = chunks.map((chunk) => (chunk.type === "markdown_text" ? String(chunk.text) : "")).join("");
  const cards = tasksOf(chunks).map(({ type: _type, id, ...task }) => ({
    type: "task_card",
    block_id: `task-${id}`,
    task_id: id ?? "",
    ...task,
  }));
  const plan = chunks.findLast((chunk) => chunk.type === "plan_update");
  return {
    text,
    blocks: [
      ...(plan === undefined ? [] : [{ type: "plan", title: plan.title ?? "" }]),
      ...cards,
      ...(text === "" ? [] : [{ type: "markdown", text, block_id: "streamed" }]),
      ...chunks.flatMap((chunk) => (chunk.type === "blocks" ? objectsIn(chunk.blocks) : [])),
    ],
  };
}
