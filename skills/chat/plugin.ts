/** The chat tools use the call's chat service, which reads and writes only where the requester can. */
import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type {
  ChatLine,
  FoundLine,
  JsonObject,
  Plugin,
  PluginChat,
  PluginContext,
  PluginResult,
} from "../../src/plugin-sdk/plugin.ts";
import { textIn } from "../../src/plugin-sdk/text-in.ts";
import { atPlace, explainFileProblem, fileProblem, openForReading } from "../../src/plugin-sdk/working-folder.ts";
import { fetchFile } from "./fetch-file.ts";

const usualLimit = 30;
const usualResults = 10;
const fileCapBytes = 10 * 1024 * 1024;
const shownCharacters = 2_000;
/** The lines of a text are indented, so that none reads like another message. */
const lineBreaks = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g;
const mimeTypes: Readonly<Record<string, string>> = {
  ...{ ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp" },
  ...{ ".csv": "text/csv", ".txt": "text/plain", ".md": "text/markdown", ".json": "application/json" },
  ".pdf": "application/pdf",
};

async function execute(tool: string, input: JsonObject, context: PluginContext): Promise<PluginResult> {
  const { chat } = context;
  if (chat === undefined) return failure("Tools can't read or write the chat here.");
  try {
    return await run(tool, input, chat, context);
  } catch (thrown) {
    const problem = tool === "chat_upload" ? explainFileProblem(thrown, textIn(input.path)) : undefined;
    // Return a refusal as an answer; throw a transient failure so that the queue retries the call.
    if (thrown instanceof RemoraError && thrown.code === "platform.closed-here") return thrown.plain;
    if (thrown instanceof RemoraError && !thrown.isRetryable) return failure(thrown.message);
    if (problem !== undefined) return failure(problem);
    throw thrown;
  }
}

async function run(tool: string, input: JsonObject, chat: PluginChat, context: PluginContext): Promise<PluginResult> {
  const where = optional("channel", input.channel);
  switch (tool) {
    case "chat_history": {
      const limit = typeof input.limit === "number" ? input.limit : usualLimit;
      return listing(await chat.history({ ...where, ...optional("before", input.before), limit }));
    }
    case "chat_search":
      return await search(input, chat);
    case "chat_fetch_file":
      return await fetchFile(input, chat);
    case "chat_post": {
      const { messageId } = await chat.post({ ...where, text: textIn(input.text), files: [] });
      return `Posted (message ${messageId}).`;
    }
    case "chat_react":
      await chat.react({ ...where, ...optional("messageId", input.messageId), emoji: textIn(input.emoji) });
      return "Done.";
    case "chat_open_thread": {
      const { name, text, messageId } = input;
      const thread = { ...where, ...optional("messageId", messageId), name: textIn(name), text: textIn(text) };
      return `Opened the thread (${(await chat.openThread(thread)).threadId}).`;
    }
    case "chat_upload":
      return await upload(input, chat, context);
    default:
      return failure(`The chat skill has no tool ${tool}.`);
  }
}

async function search(input: JsonObject, chat: PluginChat): Promise<PluginResult> {
  const [after, before] = [timeIn(input.after), timeIn(input.before)];
  if (Number.isNaN(after) || Number.isNaN(before))
    return failure("Write after and before as a date or time, such as 2026-11-01 or 2026-11-01T14:00Z.");
  const { lines, closed, notice } = await chat.search({
    ...{ text: textIn(input.query), limit: typeof input.limit === "number" ? input.limit : usualResults },
    ...{ ...optional("channel", input.channel), ...optional("author", input.author) },
    ...{ ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) },
  });
  const found =
    lines.length === 0
      ? "No message that this person can see matches. Other words may find more."
      : lines.map(foundText).join("\n");
  const [left, them] = closed === 1 ? ["One channel was", "it"] : [`${closed} channels were`, "them"];
  const unread = `(${left} not searched, because not everybody in this conversation can read ${them}. In a direct message, I search ${them} too. Say so if it matters.)`;
  return [found, ...(closed === 0 ? [] : [unread]), ...(notice === undefined ? [] : [`(${notice})`])].join("\n\n");
}

function foundText({ author, channel, at, link, text }: FoundLine): string {
  return `[${timeText(at)}] ${oneLine(author.name)} (${author.id}) in #${channel}, ${link} : ${shortened(oneLine(text))}`;
}

/** NaN if it is not a time. */
function timeIn(value: unknown): number | undefined {
  const text = textIn(value).trim();
  return text === "" ? undefined : Date.parse(text);
}

async function upload(input: JsonObject, chat: PluginChat, context: PluginContext): Promise<PluginResult> {
  const { workingFolder } = context;
  return await atPlace({ workingFolder, path: textIn(input.path) }, async (place) => {
    await using handle = await openForReading(place, "file");
    const { size } = await handle.stat();
    if (size > fileCapBytes)
      throw fileProblem(place.shown, `has ${size} bytes; the limit for sharing is ${fileCapBytes}`);
    const name = basename(place.shown);
    const mimeType = mimeTypes[extname(name).toLowerCase()] ?? "application/octet-stream";
    if (input.channel === undefined) {
      const path = join(workingFolder, place.shown);
      return { success: true, output: `${name} will be attached to the answer.`, files: [{ name, path, mimeType }] };
    }
    return await shareElsewhere(input, chat, context, { name, mimeType, content: await handle.readFile() });
  });
}

/** Uploads a copy so that nobody can replace the file between the check and the upload. */
async function shareElsewhere(
  input: JsonObject,
  chat: PluginChat,
  { dataFolder }: PluginContext,
  { name, mimeType, content }: { name: string; mimeType: string; content: Buffer },
): Promise<PluginResult> {
  const folder = join(dataFolder, "uploads", randomUUID());
  const path = join(folder, "file");
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(path, content);
    const text = textIn(input.text) || name;
    const message = { ...optional("channel", input.channel), text, files: [{ name, path, mimeType }] };
    return `Shared ${name} (message ${(await chat.post(message)).messageId}).`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function listing(lines: ChatLine[]): string {
  if (lines.length === 0) return "There are no messages.";
  return lines.map(lineText).join("\n");
}

function lineText({ id, author, text, at, files, replies }: ChatLine): string {
  const more = [
    ...(files.length === 0 ? [] : [`files: ${files.map(oneLine).join(", ")}`]),
    ...(replies === undefined || replies === 0 ? [] : [replies === 1 ? "1 reply" : `${replies} replies`]),
  ];
  const notes = more.length === 0 ? "" : ` (${more.join("; ")})`;
  const [name, said] = [oneLine(author.name), shortened(text).replace(lineBreaks, "\n    ")];
  return `[${timeText(at)}] ${name} (${author.id}), message ${id}${notes}: ${said}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function shortened(text: string): string {
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters).toWellFormed()} […]`;
}

function optional<K extends string>(key: K, value: unknown): { [P in K]?: string } {
  return typeof value === "string" && value !== "" ? ({ [key]: value } as { [P in K]?: string }) : {};
}

const plugin: Plugin = { execute };

export default plugin;
