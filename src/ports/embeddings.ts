/** Turns texts into vectors so that texts of similar meaning are near each other. */
export interface Embedder {
  /** Provider, model and dimensions. Vectors of different models can't be compared. */
  model: string;
  /** The service's address, without secrets. */
  address: string;
  /**
   * Resolves to one vector for each text, in order: finite numbers, not all zero, all of the same length. Some models
   * must know whether a text is a question or a passage. Rejects with a RemoraError, or if aborted.
   */
  embed(texts: readonly string[], use: EmbeddingUse, signal: AbortSignal): Promise<Float32Array[]>;
}

export type EmbeddingUse = "passage" | "question";
