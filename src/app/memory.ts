import { join } from "node:path";
import { removeIndex } from "../memory/index-database.ts";
import { createMemory, type OwnedMemory } from "../memory/memory.ts";
import { embeddingOptions, vectorFile } from "./embeddings.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export function buildMemory({ settings, log, redact }: AppOptions, state: State): OwnedMemory {
  const { events, ownFolder, withLock } = state;
  const { embeddings } = embeddingOptions(settings);
  // While embeddings are off, nothing would remove the vectors of forgotten texts.
  if (embeddings === undefined) removeIndex(vectorFile(settings));
  return createMemory({
    ...{ events, log, redact },
    workspace: settings.workspace,
    indexFile: join(ownFolder, "memory.db"),
    retentionDays: settings.config.memory.retentionDays,
    ...(embeddings === undefined ? {} : { embeddings }),
    ...(withLock === undefined ? {} : { withLock }),
  });
}
