import { join } from "node:path";
import { removeDatabase } from "../lib/index-database.ts";
import { createMemory, type OwnedMemory } from "../memory/memory.ts";
import type { UsageMeter } from "../ports/usage.ts";
import { readDocumentPages } from "./document-pages.ts";
import { embeddingOptions, vectorFile } from "./embeddings.ts";
import type { AppOptions } from "./options.ts";
import { searchThread } from "./search-thread.ts";
import type { State } from "./state.ts";

export function buildMemory(
  { settings, log, redact }: AppOptions,
  state: State,
  usage: () => Pick<UsageMeter, "admitAside" | "record">,
): OwnedMemory {
  const { events, ownFolder, withLock } = state;
  const { embeddings } = embeddingOptions(settings, usage);
  // Delete all vectors: while embeddings are off, nothing would remove those of forgotten texts.
  if (embeddings === undefined) removeDatabase(vectorFile(settings));
  return createMemory({
    ...{ events, log, redact, thread: searchThread },
    workspace: settings.workspace,
    indexFile: join(ownFolder, "memory.db"),
    readPages: readDocumentPages,
    retentionDays: settings.config.memory.retentionDays,
    ...(embeddings === undefined ? {} : { embeddings }),
    ...(withLock === undefined ? {} : { withLock }),
  });
}
