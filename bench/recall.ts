/** Recall at 5 and at 10: the share of a question's evidence among the first hits. */

const cutoffs = [5, 10] as const;

/** Sum of recalls by cutoff, and the number of questions. */
export interface Tally {
  questions: number;
  recall: Record<(typeof cutoffs)[number], number>;
}

export function newTally(): Tally {
  return { questions: 0, recall: { 5: 0, 10: 0 } };
}

export function addRecall(tally: Tally, found: readonly string[], evidence: readonly string[]): void {
  tally.questions++;
  for (const cutoff of cutoffs) {
    const first = found.slice(0, cutoff);
    tally.recall[cutoff] += evidence.filter((id) => first.includes(id)).length / evidence.length;
  }
}

export function recallsOf({ recall, questions }: Tally): Record<string, number> {
  const rounded = (cutoff: (typeof cutoffs)[number]) => Math.round((recall[cutoff] / questions) * 1e4) / 1e4;
  return Object.fromEntries(cutoffs.map((cutoff) => [`recall@${cutoff}`, rounded(cutoff)]));
}
