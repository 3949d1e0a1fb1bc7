/** Derives the options of memory's embeddings from the settings. */
import { join } from "node:path";
import { embedderSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import type { EmbeddingOptions } from "../memory/search.ts";
import type { EmbeddingMeter } from "../ports/embeddings.ts";
import type { UsageMeter } from "../ports/usage.ts";
import { createEmbedder } from "../providers/embeddings.ts";

/** All processes that use the data folder share this file so that no text is embedded twice. */
export function vectorFile({ data }: Settings): string {
  return join(data, "memory-vectors.db");
}

/** `usage` is asked at the first request. Without it, nothing is counted. */
export function embeddingOptions(
  settings: Settings,
  usage?: () => Pick<UsageMeter, "admitAside" | "record">,
): { embeddings?: EmbeddingOptions } {
  const wanted = embedderSettings(settings);
  if (wanted === undefined) return {};
  const embedder = createEmbedder(wanted);
  const { pricedModel } = embedder;
  const isCounted = usage !== undefined && pricedModel !== undefined;
  const meter = isCounted ? { meter: createEmbeddingMeter(pricedModel, usage) } : {};
  return { embeddings: { embedder, file: vectorFile(settings), ...meter } };
}

function createEmbeddingMeter(model: string, usage: () => Pick<UsageMeter, "admitAside" | "record">): EmbeddingMeter {
  const used = (tokens: number) => ({
    ...{ model, addedMs: 0 },
    usage: { inputTokens: tokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  });
  return {
    async admit(payer, characters) {
      // A token has at least one character.
      const permit = await usage().admitAside(payer, { model, promptTokens: characters, waits: false });
      if (permit.type !== "admitted") return undefined;
      return { count: (tokens) => permit.count(used(tokens)).written, end: permit.end };
    },
    count: (tokens) => void usage().record(used(tokens)),
  };
}
