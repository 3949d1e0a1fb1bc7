/** `chat_fetch_file`: saves a message's file under `inbox/` in the working folder. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { JsonObject, OpenedChatFile, PluginChat, PluginContext } from "../../src/plugin-sdk/plugin.ts";
import { atPlace, fileProblem, type Place } from "../../src/plugin-sdk/working-folder.ts";

const maxFileBytes = 20 * 1024 * 1024;
const maxNameCharacters = 100;

export async function fetchFile(
  input: JsonObject,
  chat: PluginChat,
  { workingFolder }: PluginContext,
): Promise<string> {
  const { messageId, name, channel } = input;
  if (chat.openFile === undefined) throw unsupported();
  const file = await chat.openFile({
    ...{ messageId: String(messageId), name: String(name) },
    ...(typeof channel === "string" ? { channel } : {}),
  });
  const path = `inbox/${safeName(String(messageId))}/${safeName(file.name)}`;
  const bytes = await atPlace({ workingFolder, path, makesFolders: true }, (place) => save(place, file));
  return `Saved ${path} (${file.mimeType}, ${formatBytes(bytes)}).`;
}

async function save(place: Place, file: OpenedChatFile): Promise<number> {
  if (file.bytes > maxFileBytes) throw tooLarge(place, file.bytes);
  const temporary = join(dirname(place.path), `.${randomBytes(8).toString("hex")}.tmp`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
  try {
    const bytes = await write(handle, place, file.content).finally(() => handle.close());
    await rename(temporary, place.path);
    return bytes;
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

/** Checks the limit while writing, because the announced size may be wrong. */
async function write(handle: FileHandle, place: Place, content: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.byteLength;
    if (bytes > maxFileBytes) throw tooLarge(place, bytes);
    await handle.writeFile(chunk);
  }
  return bytes;
}

function unsupported(): RemoraError {
  return new RemoraError({ code: "platform.unsupported", place: "chat", message: "files can't be fetched here" });
}

function tooLarge({ shown }: Place, bytes: number): Error {
  return fileProblem(shown, `has at least ${formatBytes(bytes)}; the limit is ${formatBytes(maxFileBytes)}`);
}

/** Returns one path component without separators, control or format characters, or leading dots. */
function safeName(name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}/\\:*?"<>|]/gu, "_").replace(/^[.\s]+|[.\s]+$/g, "");
  if (clean.length <= maxNameCharacters) return clean === "" ? "file" : clean;
  const [ending = ""] = /\.[^.]{1,10}$/.exec(clean) ?? [];
  return `${clean.slice(0, maxNameCharacters - ending.length).toWellFormed()}${ending}`;
}
