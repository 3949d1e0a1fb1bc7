/** Reports once when the embedding service fails, and once when it works again. */
import { codeOf, messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Embedder } from "../ports/embeddings.ts";

export type EmbeddedThing = "passages" | "questions";

export interface EmbeddingHealth {
  failed(thrown: unknown): void;
  worked(): void;
}

/** `save` receives the problem for `remora memory status`, or undefined once it is solved. */
export function createEmbeddingHealth(
  what: EmbeddedThing,
  { model, address }: Embedder,
  log: Log,
  save: (problem: string | undefined) => void,
): EmbeddingHealth {
  // "unknown" at first, because an earlier process may have saved a problem.
  let state: "unknown" | "works" | { failure: string } = "unknown";
  return {
    failed(thrown) {
      const problem = messageOf(thrown);
      const failure = codeOf(thrown) ?? problem;
      if (typeof state === "object" && state.failure === failure) return;
      state = { failure };
      log.warn(
        { model, address, error: problem },
        `could not embed ${what}; memory is searched by words until it works`,
      );
      save(problem);
    },
    worked() {
      if (state === "works") return;
      if (state !== "unknown") log.info({ model, address }, `embedding ${what} works again`);
      state = "works";
      save(undefined);
    },
  };
}
