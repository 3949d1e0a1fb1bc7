/**
 * Ranks the candidates of the index, best first.
 *
 *   1. use BM25 scores, with a small bonus for recent passages
 *   2. add part of the scores of passages nearby in position and time, because they usually share a subject
 *   3. raise a passage with the question's words close together, a quoted phrase, or a speaker that the question names
 *   4. with embeddings, add the ranks by meaning (reciprocal rank fusion)
 *   5. return equal texts once
 *
 * The weights were chosen on five of the ten LoCoMo conversations; bench/memory-retrieval.ts measures them on the
 * others. The weights of the fusion were set without measurements, because no embedding model was available.
 */
import { foldText, wordsOf } from "../lib/text/words.ts";
import type { MemoryHit } from "../ports/memory.ts";
import type { MemoryScope } from "../ports/message.ts";
import { bestFirst, fuse } from "./fusion.ts";
import type { MeantPassage } from "./meaning.ts";
import type { PassageKind } from "./places.ts";
import type { SearchQuestion } from "./query.ts";
import { isSameWord, relevantTo, startOf, termsByStart } from "./relevance.ts";
import type { FoundPassage, PassageHit, SearchIndex } from "./search-index.ts";

export const defaultWeights = {
  /** The share of the scores one and two positions before. Larger than `after`, because answers follow questions. */
  before: [0.5, 0.5],
  after: [0.3, 0.3],
  file: 0.5,
  together: 0.2,
  phrase: 0.5,
  speaker: 0.3,
  recent: 0.1,
  /** Weight of a rank by meaning. A rank by words has weight 1. */
  meaning: 0.5,
  /** The larger this is, the less the top ranks stand out. */
  rankOffset: 10,
};
export type RankingWeights = typeof defaultWeights;
const recentDays = 30;
const candidateLimit = 200;
const extraReads = 30;
/** Feedback weighs less, because episodes contain the same facts with more detail. */
const kindWeight: Record<PassageKind, number> = { episode: 1, knowledge: 1, document: 1, feedback: 0.4 };

export interface RankingInput {
  index: SearchIndex;
  question: SearchQuestion;
  /** Passages near in meaning, nearest first. Empty without embeddings. */
  meant: readonly MeantPassage[];
  scopes: readonly MemoryScope[];
  limit: number;
  now: number;
  /** Leaves out what shares only common words with the question. */
  isUnasked?: boolean;
}

export type Rank = (input: RankingInput) => MemoryHit[];

/** Caches the analysis of passages, because a busy conversation finds the same ones repeatedly. */
export function createRanking(weights: RankingWeights = defaultWeights): Rank {
  const readingOf = createReadings();
  return (input) => rank(input, readingOf, weights);
}

function rank(
  { index, question, meant, scopes, limit, now, isUnasked = false }: RankingInput,
  readingOf: ReadPassage,
  weights: RankingWeights,
): MemoryHit[] {
  const candidates = index.candidates(question, scopes, Math.max(candidateLimit, limit));
  if (candidates.length === 0 && meant.length === 0) return [];
  const scored = withNeighbours(candidates, index, now, weights);
  scored.sort((one, other) => other.score - one.score || one.id - other.id);
  const documents = index.documentIds();
  const groups = [scored.filter(({ file }) => !documents.has(file)), scored.filter(({ file }) => documents.has(file))];
  const best = groups.flatMap((group) => group.slice(0, limit + extraReads));
  const ids = new Set([...best, ...meant].map((one) => one.id));
  const passages = new Map(index.passages([...ids]).map((passage) => [passage.id, passage]));
  const scoreOf = (passage: FoundPassage) =>
    kindWeight[passage.kind] * closeness(question, passage, readingOf(passage), weights);
  const byWords = best.flatMap(({ id, score }) => {
    const passage = passages.get(id);
    return passage === undefined ? [] : [{ passage, score: score * scoreOf(passage) }];
  });
  const byMeaning = meant.flatMap(({ id, similarity }) => {
    const passage = passages.get(id);
    return passage === undefined ? [] : [{ passage, score: similarity * kindWeight[passage.kind] }];
  });
  const relevant = () => {
    const read = new Map(
      best.flatMap(({ id, file, ordinal }) => {
        const passage = passages.get(id);
        if (passage === undefined) return [];
        return [[id, { file, ordinal, at: passage.at, termsByStart: readingOf(passage).termsByStart() }]];
      }),
    );
    const isRelevant = relevantTo(question, [...read.values()], index.countPassages());
    const near = new Set(meant.map(({ id }) => id));
    return ({ id }: FoundPassage) => {
      const one = read.get(id);
      return near.has(id) || (one !== undefined && isRelevant(one));
    };
  };
  const sorted = byWords.sort(bestFirst);
  const hits = byMeaning.length === 0 ? sorted : fuse(sorted, byMeaning.sort(bestFirst), weights);
  const isWanted = isUnasked ? relevant() : () => true;
  return fairly(distinct(hits.filter(({ passage }) => isWanted(passage))), limit).flatMap(({ passage, score }) =>
    hitOf(passage, scopes, score),
  );
}

function withNeighbours(
  candidates: PassageHit[],
  index: SearchIndex,
  now: number,
  weights: RankingWeights,
): { id: number; file: number; ordinal: number; score: number }[] {
  const offsets = offsetsOf(weights);
  const own = new Map<number, PassageHit>();
  const bestOfFile = new Map<number, number>();
  for (const candidate of candidates) {
    const score = candidate.score * (1 + weights.recent * recency(candidate.at, now));
    own.set(keyOf(candidate.file, candidate.ordinal), { ...candidate, score });
    bestOfFile.set(candidate.file, Math.max(bestOfFile.get(candidate.file) ?? 0, score));
  }
  return index.neighbours(candidates, weights.before.length).map(({ id, file, ordinal, at }) => {
    let score = (own.get(keyOf(file, ordinal))?.score ?? 0) + weights.file * (bestOfFile.get(file) ?? 0);
    for (const [share, offset] of offsets) {
      const other = own.get(keyOf(file, ordinal + offset));
      if (other !== undefined) score += share * other.score * nearness(at, other.at);
    }
    return { id, file, ordinal, score };
  });
}

function offsetsOf({ before, after }: RankingWeights) {
  return [
    ...before.map((share, index) => [share, -1 - index] as const),
    ...after.map((share, index) => [share, 1 + index] as const),
  ];
}

/** Neighbors in a file that are hours apart are rarely about the same subject. */
function nearness(one: number, other: number): number {
  const gap = Math.abs(one - other);
  if (Number.isNaN(gap) || gap <= 3_600_000) return 1;
  return gap <= 6 * 3_600_000 ? 0.5 : 0.25;
}

function recency(at: number, now: number): number {
  const age = now - at;
  return Number.isNaN(age) ? 0 : Math.exp(-Math.max(0, age) / (recentDays * 86_400_000));
}

interface Reading {
  words: string[];
  placesByStart: Map<string, number[]>;
  speakers: string[];
  termsByStart(): Map<string, string[]>;
}

type ReadPassage = (passage: FoundPassage) => Reading;

function createReadings(): ReadPassage {
  const most = 300;
  const known = new Map<string, Reading>();
  return (passage) => {
    const text = `${passage.heading}\n${passage.text}`;
    const reading = known.get(text) ?? readText(text, passage);
    known.delete(text);
    known.set(text, reading);
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
    return reading;
  };
}

function readText(text: string, passage: FoundPassage): Reading {
  const words = wordsOf(text);
  const placesByStart = Map.groupBy(words.keys(), (place) => startOf(words[place] ?? ""));
  let terms: Map<string, string[]> | undefined;
  const lazily = () => {
    terms ??= termsByStart(text);
    return terms;
  };
  return { words, placesByStart, speakers: speakersOf(passage), termsByStart: lazily };
}

function closeness(question: SearchQuestion, passage: FoundPassage, reading: Reading, weights: RankingWeights): number {
  const asked = question.terms.map((term) => term.text);
  const folded = question.phrases.length === 0 ? "" : foldText(`${passage.heading}\n${passage.text}`);
  const isPhrase = question.phrases.some((phrase) => folded.includes(phrase));
  const isSpeaker = reading.speakers.some((name) => asked.includes(name));
  return (
    1 +
    weights.together * shareTogether(asked, reading) +
    (isPhrase ? weights.phrase : 0) +
    (isSpeaker ? weights.speaker : 0)
  );
}

/** Returns the share of the question's adjacent word pairs that are at most three words apart in the passage. */
function shareTogether(asked: readonly string[], { words, placesByStart }: Reading): number {
  if (asked.length < 2) return 0;
  const places = asked.map((term) =>
    (placesByStart.get(startOf(term)) ?? []).filter((place) => isSameWord(words[place] ?? "", term)),
  );
  let together = 0;
  for (let index = 0; index + 1 < asked.length; index++) {
    const next = places[index + 1] ?? [];
    if (places[index]?.some((place) => next.some((other) => Math.abs(other - place) <= 3))) together++;
  }
  return together / (asked.length - 1);
}

/** Returns the first names of the speakers in a passage: `Ann: …`, or `**User** (Ann, Bob):`. */
function speakersOf({ heading, text }: FoundPassage): string[] {
  const names = [
    /(?:^|\n)\*\*User\*\* \(([^)\n]{1,200})\)/.exec(text)?.[1],
    /^[\s*_>-]*(\p{L}[^:*\n]{0,40}?)[*_]*:/u.exec(text)?.[1],
    /^(?:\d\d:\d\d(?::\d\d)?\s*)?[—–-]*\s*(\p{Lu}\p{L}+)(?:$|:)/u.exec(heading)?.[1],
  ];
  return names.flatMap((name) => (name === undefined ? [] : wordsOf(name)));
}

/**
 * A long document has many passages on one subject, so documents get at most half of the results if others want them.
 */
function fairly<T extends { passage: FoundPassage }>(hits: readonly T[], limit: number): T[] {
  const documents = hits.filter(({ passage }) => passage.kind === "document");
  const others = hits.length - documents.length;
  const surplus = new Set(documents.slice(Math.max(Math.ceil(limit / 2), limit - others)));
  return hits.filter((hit) => !surplus.has(hit)).slice(0, limit);
}

function distinct<T extends { passage: FoundPassage }>(hits: readonly T[]): T[] {
  const seen = new Set<string>();
  return hits.filter(({ passage }) => {
    const key = `${passage.heading}\n${passage.text}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Returns a hit only if the passage's scope was requested, whatever the index returned. */
function hitOf(passage: FoundPassage, scopes: readonly MemoryScope[], score: number): MemoryHit[] {
  const { path, heading, at, text, origins } = passage;
  const scope = scopes.find((asked) => asked === passage.scope);
  return scope === undefined ? [] : [{ path, heading, at, scope, score: Number(score.toPrecision(6)), text, origins }];
}

/** Unique, because a file has at most 20,000 passages and neighbors are only a few positions away. */
function keyOf(file: number, ordinal: number): number {
  return file * 65_536 + ordinal + 8;
}
