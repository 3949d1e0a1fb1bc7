/** Opens the memory for a single command, without a log and event listeners. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { readDocumentPages } from "../app/document-pages.ts";
import type { Settings } from "../config/settings.ts";
import { createEvents } from "../lib/event-bus.ts";
import { silentLog } from "../lib/log.ts";
import { createRedactor } from "../lib/redact.ts";
import { createMemory, type OwnedMemory } from "../memory/memory.ts";

export async function openMemory({ workspace, data, secrets }: Settings): Promise<OwnedMemory> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const [events, redact] = [createEvents(), createRedactor(secrets.map(({ value }) => value))];
  return createMemory({
    workspace,
    indexFile: join(data, "memory.db"),
    events,
    log: silentLog,
    redact,
    readPages: readDocumentPages,
  });
}
