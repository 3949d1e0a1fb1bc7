/** `chat_fetch_file` saves a file of a message below `inbox/` in the working folder, and shows the beginning of it. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { JsonObject, PluginChat } from "../../src/plugin-sdk/plugin.ts";

const maxShownCharacters = 4_000;

export async function fetchFile({ messageId, name, channel }: JsonObject, chat: PluginChat): Promise<string> {
  if (chat.fetchFile === undefined) throw unsupported();
  const { path, mimeType, bytes, problem, text, summary } = await chat.fetchFile({
    ...{ messageId: String(messageId), name: String(name) },
    ...(typeof channel === "string" ? { channel } : {}),
  });
  const look = beginning(text ?? summary ?? "");
  const more = [...(problem === undefined ? [] : [`Problem: ${problem}`]), ...(look === "" ? [] : [look])];
  return [`Saved ${path} (${mimeType}, ${formatBytes(bytes)}).`, ...more].join("\n\n");
}

function beginning(text: string): string {
  if (text.length <= maxShownCharacters) return text;
  return `${text.slice(0, maxShownCharacters).toWellFormed()}\n[…] The rest is in the file.`;
}

function unsupported(): RemoraError {
  return new RemoraError({ code: "platform.unsupported", place: "chat", message: "files can't be fetched here" });
}
