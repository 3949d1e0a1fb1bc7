/** Builds the log of what people say in channels, and its search. */
import { join } from "node:path";
import { createChatLog, type StoredChatLog, switchedOffChatLog } from "../chat-log/chat-log.ts";
import { createChatSearch } from "../chat-log/chat-search.ts";
import type { ChatSearch } from "../ports/chat-services.ts";
import type { AppOptions } from "./options.ts";
import type { Platforms } from "./platforms.ts";
import { searchThread } from "./search-thread.ts";
import type { State } from "./state.ts";

export interface ChatLogParts {
  chatLog: StoredChatLog;
  search: ChatSearch;
  close(): Promise<void>;
}

export function buildChatLog(
  { settings, log, redact }: AppOptions,
  { bus, ownFolder }: State,
  { byName }: Platforms,
): ChatLogParts {
  const { enabled, ...limits } = settings.config.chatLog;
  const file = join(ownFolder, "chat-log.db");
  const nameOf = async (platform: string, userId: string) =>
    (await byName.get(platform)?.chat?.nameOf?.(userId)) ?? userId;
  const chatLog = enabled
    ? createChatLog({ ...limits, file, bus, redact, nameOf, log, thread: searchThread })
    : switchedOffChatLog(file);
  return { chatLog, search: createChatSearch({ chatLog, log }), close: chatLog.close };
}
