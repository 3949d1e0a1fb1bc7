/** Merges the passages found by words and by meaning into one list. */
import type { FoundPassage } from "./search-index.ts";

export interface FusionWeights {
  /** Weight of a rank by meaning. A rank by words has weight 1. */
  meaning: number;
  /** The larger this is, the less the top ranks stand out. */
  rankOffset: number;
}

export interface Scored {
  passage: FoundPassage;
  score: number;
}

export function bestFirst(one: Scored, other: Scored): number {
  return other.score - one.score || one.passage.id - other.passage.id;
}

/**
 * Reciprocal rank fusion (Cormack et al., 2009). Uses ranks, because scores by words and scores of different embedding
 * models can't be compared.
 */
export function fuse(
  byWords: readonly Scored[],
  byMeaning: readonly Scored[],
  { meaning, rankOffset }: FusionWeights,
): Scored[] {
  const fused = new Map<number, Scored>();
  const add = (ranking: readonly Scored[], weight: number) => {
    for (const [rank, { passage }] of ranking.entries()) {
      const before = fused.get(passage.id)?.score ?? 0;
      fused.set(passage.id, { passage, score: before + weight / (rankOffset + rank + 1) });
    }
  };
  add(byWords, 1);
  add(byMeaning, meaning);
  return [...fused.values()].sort(bestFirst);
}
