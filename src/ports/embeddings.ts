import type { Payer } from "./usage.ts";

/** Turns texts into vectors so that texts of similar meaning are near each other. */
export interface Embedder {
  /** Provider, model and dimensions. Vectors of different models can't be compared. */
  model: string;
  /** The service's address, without secrets. */
  address: string;
  /** As in the table of prices. Absent if requests cost nothing. */
  pricedModel?: string;
  /**
   * Resolves to one vector for each text, in order: finite numbers, not all zero, all of the same length. Some models
   * must know whether a text is a question or a passage. Rejects with a RemoraError, or if aborted. `onTokens` gets what the
   * request has used, if the service reports it.
   */
  embed(
    texts: readonly string[],
    use: EmbeddingUse,
    signal: AbortSignal,
    onTokens?: (tokens: number) => void,
  ): Promise<Float32Array[]>;
}

export type EmbeddingUse = "passage" | "question";

/** Holds requests within people's budgets, and counts them. */
export interface EmbeddingMeter {
  /** Does not wait. Undefined if a budget leaves nothing. */
  admit(payer: Payer, characters: number): Promise<AdmittedEmbedding | undefined>;
  /** For passages, which nobody in particular pays for. */
  count(tokens: number): void;
}

export interface AdmittedEmbedding {
  count(tokens: number): Promise<void>;
  /** Releases what is left of the reservation. Calling it again does no harm. */
  end(): Promise<void>;
}
