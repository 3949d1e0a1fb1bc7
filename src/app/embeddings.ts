/** Derives the options of memory's embeddings from the settings. */
import { join } from "node:path";
import { embedderSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import type { EmbeddingOptions } from "../memory/search.ts";
import { createEmbedder } from "../providers/embeddings.ts";

/** All processes that use the data folder share this file so that no text is embedded twice. */
export function vectorFile({ data }: Settings): string {
  return join(data, "memory-vectors.db");
}

export function embeddingOptions(
  settings: Settings,
  onTokens?: (model: string, tokens: number) => void,
): { embeddings?: EmbeddingOptions } {
  const wanted = embedderSettings(settings);
  return wanted === undefined
    ? {}
    : {
        embeddings: {
          embedder: createEmbedder({ ...wanted, ...(onTokens === undefined ? {} : { onTokens }) }),
          file: vectorFile(settings),
        },
      };
}
