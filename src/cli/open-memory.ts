/** Opens the memory for a single command, without a log and event listeners. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { readDocumentPages } from "../app/document-pages.ts";
import { embeddingOptions } from "../app/embeddings.ts";
import { searchThread } from "../app/search-thread.ts";
import type { Settings } from "../config/settings.ts";
import { createEvents } from "../lib/event-bus.ts";
import { silentLog } from "../lib/log.ts";
import { createRedactor } from "../lib/redact.ts";
import { createMemory, type OwnedMemory } from "../memory/memory.ts";

/** A command can wait longer for a question's vector than a conversation can. */
const maxWaitMs = 5_000;

export async function openMemory(settings: Settings): Promise<OwnedMemory> {
  const { workspace, data, secrets } = settings;
  await mkdir(data, { recursive: true, mode: 0o700 });
  const [events, redact] = [createEvents(), createRedactor(secrets.map(({ value }) => value))];
  const { embeddings } = embeddingOptions(settings);
  return createMemory({
    thread: searchThread,
    ...{ workspace, indexFile: join(data, "memory.db"), events, log: silentLog, redact, readPages: readDocumentPages },
    ...(embeddings === undefined ? {} : { embeddings: { ...embeddings, maxWaitMs } }),
  });
}
