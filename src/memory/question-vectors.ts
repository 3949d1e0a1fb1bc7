/**
 * Gets a question's vector if the service is fast enough. A late vector is kept in case the question is repeated:
 * aborting the request could stop a local model from loading. After a failure or a slow response, the service gets no
 * questions for a while.
 */
import { createLruMap } from "../lib/lru-map.ts";
import type { AdmittedEmbedding, Embedder, EmbeddingMeter } from "../ports/embeddings.ts";
import type { Payer } from "../ports/usage.ts";
import type { EmbeddingHealth } from "./embedding-health.ts";

/** Resolves to undefined if the search must use words only. Never rejects, and never takes longer than `maxWaitMs`. */
export type QuestionVector = (question: string, payer?: Payer) => Promise<Float32Array | undefined>;

export interface QuestionVectorsOptions {
  embedder: Embedder;
  health: EmbeddingHealth;
  now: () => number;
  /** How long a search waits for the vector. */
  maxWaitMs?: number;
  /** Asked before a request that somebody pays for. */
  admit?: EmbeddingMeter["admit"];
  /** Aborts running requests, which would keep the process alive. */
  ended: AbortSignal;
}

const defaultMaxWaitMs = 800;
const requestTimeoutMs = 30_000;
const maxQuestionCharacters = 2_000;
const maxKnown = 100;
/** A budget leaves nothing. The service itself may work. */
const refused = "refused";
const maxUnderWay = 4;
const firstRestMs = 5_000;
const maxRestMs = 5 * 60_000;

export function createQuestionVectors(options: QuestionVectorsOptions): QuestionVector {
  const { embedder, health, now, maxWaitMs = defaultMaxWaitMs, ended } = options;
  const known = createLruMap<Promise<Float32Array | typeof refused | undefined>>(maxKnown);
  let [underWay, troubles, restUntil] = [0, 0, 0];

  function rest(): void {
    restUntil = now() + Math.min(firstRestMs * 2 ** troubles, maxRestMs);
    troubles = Math.min(troubles + 1, 20);
  }

  async function embed(text: string, payer?: Payer): Promise<Float32Array | typeof refused | undefined> {
    underWay++;
    let paid: AdmittedEmbedding | undefined;
    try {
      if (payer !== undefined && options.admit !== undefined) {
        paid = await options.admit(payer, text.length);
        if (paid === undefined) {
          known.delete(text);
          return refused;
        }
      }
      const signal = AbortSignal.any([ended, AbortSignal.timeout(requestTimeoutMs)]);
      const [vector] = await embedder.embed([text], "question", signal, (tokens) => void paid?.count(tokens));
      health.worked();
      return vector;
    } catch (thrown) {
      known.delete(text);
      if (!ended.aborted) health.failed(thrown);
      return undefined;
    } finally {
      underWay--;
      await paid?.end();
    }
  }

  return async (question, payer) => {
    const text = question.trim().slice(0, maxQuestionCharacters).toWellFormed();
    if (text === "") return undefined;
    let wanted = known.get(text);
    if (wanted === undefined) {
      if (underWay >= maxUnderWay || now() < restUntil) return undefined;
      wanted = embed(text, payer);
      known.set(text, wanted);
    }
    const vector = await within(wanted, maxWaitMs);
    if (vector === refused) return undefined;
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
