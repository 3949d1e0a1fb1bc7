/** Reports a failure of the embedding service once, and once when it works again. */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Embedder } from "../ports/embeddings.ts";

export interface EmbeddingHealth {
  failed(thrown: unknown): void;
  worked(): void;
}

/** `save` gets the problem for `remora memory status`, or undefined when there is none any more. */
export function createEmbeddingHealth(
  { model, address }: Embedder,
  log: Log,
  save: (problem: string | undefined) => void,
): EmbeddingHealth {
  // Undefined at first, because an earlier process may have saved a problem.
  let known: string | undefined;
  return {
    failed(thrown) {
      const problem = messageOf(thrown);
      if (problem === known) return;
      known = problem;
      log.warn(
        { model, address, error: problem },
        "could not embed memory, so search goes by words; trying again later",
      );
      save(problem);
    },
    worked() {
      if (known === "") return;
      if (known !== undefined) log.info({ model, address }, "memory is embedded again");
      known = "";
      save(undefined);
    },
  };
}
