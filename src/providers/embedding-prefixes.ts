/** Some models were trained with a prefix that says what a text is for. Without it, they find less. */
import type { EmbeddingUse } from "../ports/embeddings.ts";

const retrieval = "Represent this sentence for searching relevant passages: ";

/** From the model cards on huggingface.co. The first match applies. */
const prefixes: readonly (readonly [model: RegExp, prefixes: Record<EmbeddingUse, string>])[] = [
  [/nomic-embed-text/, { passage: "search_document: ", question: "search_query: " }],
  [/(?:^|[/-])e5-|multilingual-e5/, { passage: "passage: ", question: "query: " }],
  [
    /mxbai-embed|snowflake-arctic-embed(?!2|-[ml]-v2)|bge-(?:small|base|large)-en/,
    { passage: "", question: retrieval },
  ],
];

export function embeddingPrefix(model: string, use: EmbeddingUse): string {
  const name = model.toLowerCase();
  return prefixes.find(([pattern]) => pattern.test(name))?.[1][use] ?? "";
}
