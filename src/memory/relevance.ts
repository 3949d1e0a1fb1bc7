/**
 * Tells which passages are about a question. Notes that nobody asked for cost tokens and mislead if they share only common words
 * with it. Each term of the question weighs more the fewer passages have it (inverse document frequency, as in BM25). A passage
 * counts if it has a term that hardly any other has, or if it, or half as much one that is near it, has a fifth of the weight of the
 * heaviest terms. bench/memory-retrieval.ts measures that.
 */
import { termsOf } from "../lib/text/words.ts";
import { dayTermsOf } from "./dates.ts";
import type { SearchQuestion } from "./query.ts";

const leastShare = 0.2;
const shareOfNear = 0.5;
const reach = 2;
/** Passages that have a rare word, such as a name: one such word is enough, whatever else a person says. */
const mostOfRare = 3;
const shareOfRare = 0.005;
/** A long message has many words besides what it is about. */
const maxWeighed = 6;

export interface ReadPassage {
  file: number;
  ordinal: number;
  at: string;
  termsByStart: ReadonlyMap<string, readonly string[]>;
}

/** `passages`: what was found. `count`: how many passages there are altogether. */
export function relevantTo(
  { terms, dayTerms }: SearchQuestion,
  passages: readonly ReadPassage[],
  count: number,
): (passage: ReadPassage) => boolean {
  const found = new Map(passages.map((passage) => [passage, terms.map((term) => hasTerm(passage, term))]));
  const frequencies = terms.map((_term, index) => [...found.values()].filter((has) => has[index]).length);
  const isRare = frequencies.map((having) => having <= Math.max(mostOfRare, count * shareOfRare));
  const weights = frequencies.map((having) => Math.log(1 + (Math.max(count, having) - having + 0.5) / (having + 0.5)));
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const heaviest = sum(weights.toSorted((one, other) => other - one).slice(0, maxWeighed));
  const shares = new Map(
    passages.map((passage) => {
      const own = sum(weights.filter((_weight, index) => found.get(passage)?.[index]));
      const hasRare = found.get(passage)?.some((has, index) => has && isRare[index]) === true;
      return [placeOf(passage), heaviest === 0 ? 1 : Math.max(own / heaviest, hasRare ? leastShare : 0)];
    }),
  );
  const isOnDay = ({ at }: ReadPassage) => dayTermsOf(at).some((term) => dayTerms.includes(term));
  return (passage) => {
    const near = Array.from({ length: 2 * reach + 1 }, (_, index) => passage.ordinal + index - reach);
    const nearest = Math.max(...near.map((ordinal) => shares.get(placeOf({ ...passage, ordinal })) ?? 0));
    return Math.max(shares.get(placeOf(passage)) ?? 0, nearest * shareOfNear) >= leastShare || isOnDay(passage);
  };
}

/** Terms by their first letters, because words that differ in these are never treated as the same word. */
export function termsByStart(text: string): Map<string, string[]> {
  return Map.groupBy(new Set(termsOf(text)), startOf);
}

export function startOf(word: string): string {
  return word.slice(0, 4);
}

/** Approximates the index's stemming: two words are the same if they differ only in the ending. */
export function isSameWord(one: string, other: string): boolean {
  if (one === other) return true;
  const stem = Math.max(4, Math.min(one.length, other.length) - 2);
  return one.length >= stem && other.length >= stem && one.slice(0, stem) === other.slice(0, stem);
}

function hasTerm({ termsByStart }: ReadPassage, { text, isPrefix }: SearchQuestion["terms"][number]): boolean {
  if (isPrefix && text.length < 4) return [...termsByStart.keys()].some((start) => start.startsWith(text));
  return (termsByStart.get(startOf(text)) ?? []).some(
    (term) => isSameWord(term, text) || (isPrefix && term.startsWith(text)),
  );
}

function placeOf({ file, ordinal }: Pick<ReadPassage, "file" | "ordinal">): string {
  return `${file} ${ordinal}`;
}
