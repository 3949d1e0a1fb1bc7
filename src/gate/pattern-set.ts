/**
 * Many patterns against several texts at once, in bounded time:
 *
 *   1. what RE2 can express goes through RE2 sets, all patterns in one pass; a long input does so under the caller's
 *      deadline, because states that multiply can make even a linear engine slow
 *   2. the rest runs as JavaScript regular expressions, all together within 50 ms; when that is not enough, each by
 *      itself within 50 ms, and one that still does not end counts as a match
 *
 * A pattern is reported once, for the first text that it matches.
 */
import { RE2JS, RE2JSException, RE2Set } from "re2js";
import type { Readings } from "./dialect.ts";
import { runWithin } from "./timed.ts";

export interface PatternHits {
  /** By index of the pattern: the index of the first text that it matched. */
  first: Map<number, number>;
  /** False when the deadline came before every pattern had been tried. */
  isComplete: boolean;
}

export interface PatternSet {
  /** `deadline` in terms of `performance.now()`. */
  match(texts: readonly string[], deadline: number): PatternHits;
}

interface Chunk {
  set: RE2Set;
  /** Its patterns: index in the whole set, and source. */
  members: { index: number; source: string }[];
}

/** Characters that even the worst set reads in tens of milliseconds; beyond, the reading is timed. */
const untimedCharacters = 16_384;
const timedEngineMs = 50;

export function createPatternSet(patterns: readonly (Readings | undefined)[]): PatternSet {
  const members = patterns.flatMap((pattern, index) =>
    pattern?.re2 === undefined ? [] : [{ index, source: pattern.re2 }],
  );
  const chunks = chunksOf(members);
  const expressions = patterns.flatMap((pattern, index) =>
    pattern?.javascript === undefined ? [] : [{ index, expression: new RegExp(pattern.javascript, "i") }],
  );

  return {
    match(texts, deadline) {
      const hits: PatternHits = { first: new Map(), isComplete: true };
      const characters = texts.reduce((sum, text) => sum + text.length, 0);
      for (const [index, chunk] of chunks.entries()) {
        if (characters <= untimedCharacters) matchChunk(chunk, texts, hits.first);
        else if (runWithin(deadline - performance.now(), () => matchChunk(chunk, texts, hits.first)) === undefined) {
          hits.isComplete = false;
          // It was stopped in the middle of a change.
          chunks[index] = { ...chunk, set: compileSet(chunk.members) };
        }
      }
      if (expressions.length > 0) matchExpressions(expressions, texts, deadline, hits.first);
      return hits;
    },
  };
}

function matchChunk(chunk: Chunk, texts: readonly string[], first: Map<number, number>): void {
  for (const [textIndex, text] of texts.entries()) {
    for (const position of chunk.set.match(text)) {
      const member = chunk.members[position];
      if (member !== undefined && !first.has(member.index)) first.set(member.index, textIndex);
    }
  }
}

/** One set as a rule; as many as it takes when the patterns are too large for one. */
function chunksOf(members: Chunk["members"]): Chunk[] {
  if (members.length === 0) return [];
  try {
    return [{ set: compileSet(members), members }];
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException) || members.length === 1) throw thrown;
    const half = Math.ceil(members.length / 2);
    return [...chunksOf(members.slice(0, half)), ...chunksOf(members.slice(half))];
  }
}

function compileSet(members: Chunk["members"]): RE2Set {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE);
  for (const { source } of members) set.add(source);
  set.compile();
  return set;
}

function matchExpressions(
  expressions: { index: number; expression: RegExp }[],
  texts: readonly string[],
  deadline: number,
  first: Map<number, number>,
): void {
  const isShort = texts.reduce((sum, text) => sum + text.length, 0) <= untimedCharacters;
  // On a busy machine a process may stand still for longer than all of this takes: that is no slow pattern. On a short text
  // each one gets its time, whatever the clock says by then.
  const limit = () => (isShort ? timedEngineMs : Math.min(timedEngineMs, deadline - performance.now()));
  const within = (expression: RegExp) => runWithin(limit(), () => findFirst(expression))?.value;
  const findFirst = (expression: RegExp) => texts.findIndex((text) => expression.test(text));
  const together = runWithin(limit(), () => expressions.map(({ expression }) => findFirst(expression)));
  for (const [position, { index, expression }] of expressions.entries()) {
    const isTimeLeft = isShort || deadline > performance.now();
    const again = isShort ? () => within(expression) : () => undefined;
    const found = together?.value[position] ?? (isTimeLeft ? (within(expression) ?? again()) : undefined);
    const textIndex = found ?? 0;
    if (textIndex >= 0 && !first.has(index)) first.set(index, textIndex);
  }
}
