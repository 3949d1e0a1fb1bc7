import { join } from "node:path";
import { createMemory, type OwnedMemory } from "../memory/memory.ts";
import { readDocumentPages } from "./document-pages.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export function buildMemory({ settings, log, redact }: AppOptions, state: State): OwnedMemory {
  const { events, ownFolder, withLock } = state;
  return createMemory({
    ...{ events, log, redact },
    workspace: settings.workspace,
    indexFile: join(ownFolder, "memory.db"),
    readPages: readDocumentPages,
    retentionDays: settings.config.memory.retentionDays,
    ...(withLock === undefined ? {} : { withLock }),
  });
}
