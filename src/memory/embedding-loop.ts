/**
 * Embeds the passages of memory in the background, newest first, in batches with a pause between them. After a failure
 * it waits and tries the same passages again. A text that the service refuses is skipped until the next start.
 */
import { pause } from "../lib/backoff.ts";
import { codeOf, RemoraError } from "../lib/errors.ts";
import type { Embedder } from "../ports/embeddings.ts";
import type { EmbeddingHealth } from "./embedding-health.ts";
import type { EmbeddingRequest, SearchAnswer } from "./search-worker.ts";

export interface EmbeddingLoop {
  /** Call when there may be new passages. */
  wake(): void;
  close(): Promise<void>;
}

export interface EmbeddingLoopOptions {
  embedder: Embedder;
  health: EmbeddingHealth;
  ask(request: EmbeddingRequest): Promise<SearchAnswer>;
  now: () => number;
  times?: Partial<EmbeddingTimes>;
  onTokens?(tokens: number): void;
}

export interface EmbeddingTimes {
  betweenBatchesMs: number;
  firstRetryMs: number;
  /** Pause before checking again whether another process is embedding. */
  busyMs: number;
}

const defaultTimes: EmbeddingTimes = { betweenBatchesMs: 250, firstRetryMs: 5_000, busyMs: 10_000 };
const maxRetryMs = 10 * 60_000;
/** Small servers reject larger batches. */
const maxBatch = 32;
/** Generous, for models that run without a GPU. */
const requestTimeoutMs = 120_000;
/** Checks all passages again after this time, because another process may have removed a vector too early. */
const maxFloorAgeMs = 60 * 60_000;
const maxSkipped = 1_000;
/** Errors caused by the texts rather than by the account or the service. */
const refusals: readonly unknown[] = ["provider.bad-request", "provider.too-long"];

interface Text {
  key: string;
  text: string;
}

export function createEmbeddingLoop(options: EmbeddingLoopOptions): EmbeddingLoop {
  const { embedder, health, ask, now, times = {}, onTokens } = options;
  const { betweenBatchesMs, firstRetryMs, busyMs } = { ...defaultTimes, ...times };
  const ended = new AbortController();
  const skipped = new Set<string>();
  let batch = maxBatch;
  let hasWorked = false;
  let failures = 0;
  /** All passages up to this id have been checked. */
  let floor = { id: 0, at: 0, rebuilds: 0 };
  let isWanted = false;
  let running: Promise<void> | undefined;

  async function embed(texts: readonly Text[]): Promise<void> {
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(requestTimeoutMs)]);
    const embedded = await embedder.embed(
      texts.map(({ text }) => text),
      "passage",
      signal,
      onTokens,
    );
    const vectors = texts.flatMap(({ key }, index) => {
      const vector = embedded[index];
      return vector === undefined ? [] : [{ key, vector }];
    });
    const answer = await ask({ type: "store-vectors", vectors });
    if (answer.type === "not-stored")
      throw new RemoraError({ code: "embeddings.dimensions", place: embedder.model, message: answer.problem });
    hasWorked = true;
  }

  /** Embeds texts one by one to find those that the service refuses, which would block the rest of their batch. */
  async function embedSingly(texts: readonly Text[]): Promise<void> {
    const refused: Text[] = [];
    let refusal: unknown;
    for (const text of texts) {
      try {
        await embed([text]);
      } catch (thrown) {
        if (!refusals.includes(codeOf(thrown))) throw thrown;
        refused.push(text);
        refusal = thrown;
      }
    }
    // If nothing has worked yet, the settings are more likely to be wrong than the texts.
    if (refused.length > 0 && !hasWorked) throw refusal;
    if (refused.length === 0) batch = Math.max(1, Math.floor(texts.length / 2));
    for (const { key } of refused) if (skipped.size < maxSkipped) skipped.add(key);
  }

  /** Returns false if the texts must be tried again. */
  async function embedBatch(texts: readonly Text[]): Promise<boolean> {
    try {
      await embed(texts).catch(async (thrown: unknown) => {
        if (!refusals.includes(codeOf(thrown))) throw thrown;
        await embedSingly(texts);
      });
      failures = 0;
      health.worked();
      await pause(betweenBatchesMs, ended.signal);
      return true;
    } catch (thrown) {
      if (ended.signal.aborted) return false;
      health.failed(thrown);
      const asked = thrown instanceof RemoraError ? (thrown.retryAfterMs ?? 0) : 0;
      await pause(Math.max(Math.min(firstRetryMs * 2 ** failures, maxRetryMs), asked), ended.signal);
      failures = Math.min(failures + 1, 20);
      return false;
    }
  }

  async function sweep(): Promise<void> {
    let below: number | undefined;
    let top: number | undefined;
    const above = now() - floor.at < maxFloorAgeMs ? floor.id : 0;
    while (!ended.signal.aborted) {
      const position = { above, ...(below === undefined ? {} : { below }) };
      const query = { ...position, skipped: [...skipped], limit: batch };
      const found = await ask({ type: "unembedded", query, now: now() });
      if (found.type !== "unembedded") return;
      if (found.rebuilds !== floor.rebuilds) {
        floor = { id: 0, at: 0, rebuilds: found.rebuilds };
        isWanted = true;
        return;
      }
      top ??= found.top;
      if (found.isBusy) await pause(busyMs, ended.signal);
      else if (found.texts.length === 0 || (await embedBatch(found.texts))) {
        below = found.below;
        if (below === undefined) break;
      }
    }
    await ask({ type: "embedding-ended", isComplete: !ended.signal.aborted });
    if (top !== undefined) floor = { id: top, at: above === 0 ? now() : floor.at, rebuilds: floor.rebuilds };
  }

  async function run(): Promise<void> {
    try {
      while (isWanted && !ended.signal.aborted) {
        isWanted = false;
        await sweep();
      }
    } catch (thrown) {
      if (!ended.signal.aborted) health.failed(thrown);
    } finally {
      running = undefined;
    }
  }

  return {
    wake() {
      isWanted = true;
      if (!ended.signal.aborted) running ??= run();
    },
    async close() {
      ended.abort();
      await running;
    },
  };
}
