/**
 * The vector of a question, if the service is fast enough. A late one is kept for the same question: aborting the
 * request would also abort the loading of a local model. A service that fails or is slow gets no questions for a while.
 */
import { createLruMap } from "../lib/lru-map.ts";
import type { Embedder } from "../ports/embeddings.ts";
import type { EmbeddingHealth } from "./embedding-health.ts";

/** Resolves to undefined if search has to go by words only. Never rejects, and never takes longer than `maxWaitMs`. */
export type QuestionVector = (question: string) => Promise<Float32Array | undefined>;

export interface QuestionVectorsOptions {
  embedder: Embedder;
  health: EmbeddingHealth;
  now: () => number;
  /** How long an answer may be delayed. */
  maxWaitMs?: number;
  /** Ends requests that are under way, because they would keep the process alive. */
  ended: AbortSignal;
}

const defaultMaxWaitMs = 800;
const requestTimeoutMs = 30_000;
const maxQuestionCharacters = 2_000;
const maxKnown = 100;
const maxUnderWay = 4;
const firstRestMs = 5_000;
const maxRestMs = 5 * 60_000;

export function createQuestionVectors(options: QuestionVectorsOptions): QuestionVector {
  const { embedder, health, now, maxWaitMs = defaultMaxWaitMs, ended } = options;
  const known = createLruMap<Promise<Float32Array | undefined>>(maxKnown);
  let [underWay, troubles, restUntil] = [0, 0, 0];

  function rest(): void {
    restUntil = now() + Math.min(firstRestMs * 2 ** troubles, maxRestMs);
    troubles = Math.min(troubles + 1, 20);
  }

  async function embed(text: string): Promise<Float32Array | undefined> {
    underWay++;
    try {
      const signal = AbortSignal.any([ended, AbortSignal.timeout(requestTimeoutMs)]);
      const [vector] = await embedder.embed([text], "question", signal);
      health.worked();
      return vector;
    } catch (thrown) {
      known.delete(text);
      if (!ended.aborted) health.failed(thrown);
      return undefined;
    } finally {
      underWay--;
    }
  }

  return async (question) => {
    const text = question.trim().slice(0, maxQuestionCharacters).toWellFormed();
    if (text === "") return undefined;
    let wanted = known.get(text);
    if (wanted === undefined) {
      if (underWay >= maxUnderWay || now() < restUntil) return undefined;
      wanted = embed(text);
      known.set(text, wanted);
    }
    const vector = await within(wanted, maxWaitMs);
    if (vector === undefined) rest();
    else troubles = 0;
    return vector;
  };
}

function within<T>(wanted: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<T | undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  wanted.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer));
  return promise;
}
