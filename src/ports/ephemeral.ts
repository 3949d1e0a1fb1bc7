/**
 * Texts that may not be stored: what a chat service's own search has found, and the tokens that it needs. They are only in
 * the memory of processes, until they are dropped, for an hour at most. Whoever does not find one does without it.
 */
export interface EphemeralTexts {
  /** Gives the text to all processes. */
  put(key: string, text: string): void;
  get(key: string): string | undefined;
  /** In all processes, every text whose key begins so. */
  drop(start: string): void;
}

/** Stands for the text of a result wherever the result is stored or shown. */
export const notKeptText =
  "(Found by the chat service's own search, whose results are not kept. If you still need them, search again.)";

/** `jobId` as `jobIdOf` makes it, or its beginning. */
export function resultKey(jobId: string): string {
  return `result:${jobId}`;
}
