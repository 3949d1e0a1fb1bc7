/** Turns texts into vectors, so that texts of similar meaning are near each other. */
export interface Embedder {
  /** Provider, model and dimensions. Vectors of different models can't be compared. */
  model: string;
  /** Where the texts are sent, without secrets. */
  address: string;
  /**
   * Resolves to one vector for each text, in order: finite numbers, not all zero, all of the same length. Some models
   * expect to be told whether a text is searched for or searched in. Rejects with a RemoraError, or if aborted.
   */
  embed(texts: readonly string[], use: EmbeddingUse, signal: AbortSignal): Promise<Float32Array[]>;
}

export type EmbeddingUse = "passage" | "question";
