/**
 * Chooses the weights of the ranking on some conversations: changes one weight at a time and keeps what raises the mean of
 * recall@5 and @10, until nothing does. Prints the weights, and the recall on these and on the held-out conversations, to
 * standard error.
 */
import { questionOf } from "../src/memory/query.ts";
import { createRanking, defaultWeights, type Rank, type RankingWeights } from "../src/memory/ranking.ts";
import { createSearchIndex, type SearchIndex } from "../src/memory/search-index.ts";
import type { Conversation } from "./memory-sets.ts";
import { addRecall, newTally, recallsOf } from "./recall.ts";

interface Indexed {
  index: SearchIndex;
  idOf(hit: { path: string; heading: string }): string;
  questions: Conversation["questions"];
  remove(): void;
}

type Prepare = (conversation: Conversation) => Omit<Indexed, "index" | "questions"> & { workspace: string };

/** `recent` is not chosen, because all questions of a set are asked long afterwards; `phrase` because none quotes. */
const steps: readonly ((weights: RankingWeights, factor: number) => RankingWeights)[] = [
  (weights, factor) => ({ ...weights, before: [scaled(weights.before[0], factor), weights.before[1] ?? 0] }),
  (weights, factor) => ({ ...weights, before: [weights.before[0] ?? 0, scaled(weights.before[1], factor)] }),
  (weights, factor) => ({ ...weights, after: [scaled(weights.after[0], factor), weights.after[1] ?? 0] }),
  (weights, factor) => ({ ...weights, after: [weights.after[0] ?? 0, scaled(weights.after[1], factor)] }),
  (weights, factor) => ({ ...weights, file: scaled(weights.file, factor) }),
  (weights, factor) => ({ ...weights, together: scaled(weights.together, factor) }),
  (weights, factor) => ({ ...weights, speaker: scaled(weights.speaker, factor) }),
];
const factors = [0.6, 1.6];
/** A smaller gain is chance. */
const minGain = 0.0005;
const maxRounds = 4;

export function chooseWeights(
  chosenOn: readonly Conversation[],
  heldOut: readonly Conversation[],
  prepare: Prepare,
): void {
  const [own, others] = [chosenOn.map((one) => indexed(one, prepare)), heldOut.map((one) => indexed(one, prepare))];
  let best = { weights: neutral, recall: meanRecall(own, neutral) };
  for (let round = 0, hasGained = true; hasGained && round < maxRounds; round++) {
    hasGained = false;
    for (const step of steps) {
      for (const factor of factors) {
        const weights = step(best.weights, factor);
        const recall = meanRecall(own, weights);
        if (recall < best.recall + minGain) continue;
        best = { weights, recall };
        hasGained = true;
      }
    }
  }
  for (const [name, weights] of Object.entries({ neutral, today: defaultWeights, chosen: best.weights }))
    console.error(
      JSON.stringify({ name, weights, chosenOn: recalls(own, weights), heldOut: recalls(others, weights) }),
    );
  for (const { index, remove } of [...own, ...others]) {
    index.close();
    remove();
  }
}

/** A start that knows nothing of any conversation. */
const neutral: RankingWeights = {
  ...defaultWeights,
  before: [0.2, 0.2],
  after: [0.2, 0.2],
  file: 0.2,
  together: 0.2,
  speaker: 0.2,
};

function scaled(weight: number | undefined, factor: number): number {
  return Number(((weight ?? 0) * factor).toPrecision(2));
}

function indexed(conversation: Conversation, prepare: Prepare): Indexed {
  const { workspace, idOf, remove } = prepare(conversation);
  const index = createSearchIndex({ workspace, indexFile: ":memory:", onProblem: console.error });
  index.update(["channel:bench"]);
  return { index: remembering(index), idOf, remove, questions: conversation.questions };
}

/** The weights don't change what the index returns, so each question is asked once. */
function remembering(index: SearchIndex): SearchIndex {
  const known = new Map<string, unknown>();
  const once = <T>(key: string, work: () => T): T => {
    if (!known.has(key)) known.set(key, work());
    return known.get(key) as T;
  };
  return {
    ...index,
    candidates: (question, scopes, limit) =>
      once(`candidates ${JSON.stringify(question)}`, () => index.candidates(question, scopes, limit)),
    neighbours: (candidates, reach) =>
      once(`neighbours ${candidates.map(({ id }) => id)}`, () => index.neighbours(candidates, reach)),
    passages: (ids) => ids.flatMap((id) => once(`passage ${id}`, () => index.passages([id]))),
  };
}

function meanRecall(sets: readonly Indexed[], weights: RankingWeights): number {
  const values = Object.values(recalls(sets, weights));
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function recalls(sets: readonly Indexed[], weights: RankingWeights): Record<string, number> {
  const tally = newTally();
  const rank: Rank = createRanking(weights);
  for (const { index, idOf, questions } of sets) {
    for (const { text, evidence } of questions) {
      const now = Date.UTC(2026, 0, 1);
      const question = questionOf(text, now);
      const hits = rank({ index, question, meant: [], scopes: ["channel:bench"], limit: 10, now });
      addRecall(tally, hits.map(idOf), evidence);
    }
  }
  return recallsOf(tally);
}
