/**
 * Many patterns against several texts at once, in bounded time. For each text:
 *
 *   1. one pass finds which atoms are in it, and so which patterns can match at all (prefilter.ts)
 *   2. each of those is tried by itself; patterns without atoms are tried together, in one pass
 *   3. what RE2 can't express runs as a JavaScript regular expression with a limit of 50 ms; one that does not end by then
 *      counts as a match
 *
 * Everything on a long text runs under a time limit, because states that multiply can make even a linear engine slow. RE2's
 * automata may be stopped at any point: all that they keep is caches, and an entry is put in when it is complete.
 *
 * A pattern is reported once, for the first text that it matches.
 */
import { RE2JS, RE2JSException, RE2Set } from "re2js";
import { createDeadline, type Deadline } from "./deadline.ts";
import type { Readings } from "./dialect.ts";
import { readPattern } from "./dialect.ts";
import { atomsOf } from "./prefilter.ts";
import { runUntil, runWithin } from "./timed.ts";

export interface PatternHits {
  /** By index of the pattern: the index of the first text that it matched. */
  first: Map<number, number>;
  /** False when the deadline came before every pattern had been tried. */
  isComplete: boolean;
}

export interface PatternSet {
  /** `earlier`: what the texts before `start` have already matched; those are not tried again. */
  match(
    texts: readonly string[],
    deadline: Deadline,
    earlier?: { hits: ReadonlyMap<number, number>; start: number },
  ): PatternHits;
}

/** A pattern, and how it is found. */
interface Entry {
  index: number;
  re2: string | undefined;
  expression: RegExp | undefined;
  /** Of each alternative the numbers of its atoms, one of which alternatives must be there whole; absent: always tried. */
  atoms: number[][] | undefined;
  /** Its only atom is the pattern itself. */
  isAtom: boolean;
  /** Compiled when it is needed first. */
  set: RE2Set | undefined;
}

/** Characters that even the worst pattern reads in tens of milliseconds; beyond, the reading is timed. */
const maxUntimedCharacters = 2_048;
/** Of one JavaScript expression, over all texts. */
const expressionLimitMs = 50;

export function createPatternSet(patterns: readonly (Readings | undefined)[]): PatternSet {
  const atomNumbers = new Map<string, number>();
  const entries = patterns.flatMap((pattern, index) =>
    pattern === undefined ? [] : [entryOf(pattern, index, atomNumbers)],
  );
  const atomSets = setsOf([...atomNumbers.keys()]);
  const together = entries.filter(({ re2, atoms }) => re2 !== undefined && atoms === undefined);
  const togetherSets = setsOf(together.map(({ re2 }) => re2 ?? ""));
  const expressions = entries.filter(({ expression }) => expression !== undefined);

  /** The numbers of the atoms in the text; undefined when it could not be tried whole. */
  function matchText(text: string, position: number, hits: Map<number, number>, deadline: Deadline) {
    const within = <T>(work: () => T): { value: T } | undefined => {
      if (text.length > maxUntimedCharacters) return runUntil(deadline, work);
      return deadline.left() > 0 ? { value: work() } : undefined;
    };
    const found = within(() => new Set(atomSets.match(text)))?.value;
    if (found === undefined) return undefined;
    const candidates = entries.filter(
      (entry) =>
        entry.re2 !== undefined && entry.atoms !== undefined && !hits.has(entry.index) && canMatch(entry, found),
    );
    // Not under the limit: what the library builds for all its patterns must not be left half built.
    for (const entry of candidates) if (!entry.isAtom) entry.set ??= compileSet([entry.re2 ?? ""]);
    const hit = (entry: Entry | undefined) => {
      if (entry !== undefined && !hits.has(entry.index)) hits.set(entry.index, position);
    };
    const tried = within(() => {
      for (const entry of candidates) if (entry.isAtom || (entry.set?.match(text).length ?? 0) > 0) hit(entry);
      for (const number of togetherSets.match(text)) hit(together[number]);
    });
    return tried === undefined ? undefined : found;
  }

  return {
    match(texts, deadline, earlier = { hits: new Map(), start: 0 }) {
      const first = new Map(earlier.hits);
      let isComplete = true;
      const wanted = new Map<Entry, number[]>();
      for (const [position, text] of texts.entries()) {
        if (position < earlier.start) continue;
        const found = matchText(text, position, first, deadline);
        if (found === undefined) isComplete = false;
        for (const entry of expressions) {
          if (found !== undefined && !canMatch(entry, found)) continue;
          wanted.set(entry, [...(wanted.get(entry) ?? []), position]);
        }
      }
      const open = [...wanted].filter(([{ index }]) => !first.has(index));
      return { first, isComplete: matchExpressions(open, texts, deadline, first) && isComplete };
    },
  };
}

function entryOf({ re2, javascript, source }: Readings, index: number, atomNumbers: Map<string, number>): Entry {
  const isBoth = re2 !== undefined && javascript !== undefined;
  const written = isBoth ? undefined : atomsOf(source, javascript !== undefined);
  // Atoms are written in the dialect of the pattern, and RE2 finds them all or the prefilter is of no use.
  const atoms = written?.map((branch) => branch.map((atom) => readPattern(atom)?.re2));
  const isUsable = atoms?.every((branch) => branch.every((atom) => atom !== undefined)) === true;
  const numberOf = (atom: string) => {
    const number = atomNumbers.get(atom) ?? atomNumbers.size;
    atomNumbers.set(atom, number);
    return number;
  };
  return {
    index,
    re2,
    expression: javascript === undefined ? undefined : new RegExp(javascript, "i"),
    atoms: isUsable ? atoms?.map((branch) => branch.map((atom) => numberOf(atom ?? ""))) : undefined,
    isAtom: isUsable && atoms?.length === 1 && atoms[0]?.length === 1 && atoms[0][0] === re2,
    set: undefined,
  };
}

function canMatch({ atoms }: Entry, found: ReadonlySet<number>): boolean {
  return atoms === undefined || atoms.some((branch) => branch.every((atom) => found.has(atom)));
}

/** One set as a rule; as many as it takes when the patterns are too large for one. */
function setsOf(sources: string[]): { match(text: string): number[] } {
  const sets = compiledParts(sources, 0);
  return { match: (text) => sets.flatMap(({ set, start }) => set.match(text).map((position) => start + position)) };
}

function compiledParts(sources: string[], start: number): { set: RE2Set; start: number }[] {
  if (sources.length === 0) return [];
  try {
    return [{ set: compileSet(sources), start }];
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException) || sources.length === 1) throw thrown;
    const half = Math.ceil(sources.length / 2);
    return [...compiledParts(sources.slice(0, half), start), ...compiledParts(sources.slice(half), start + half)];
  }
}

function compileSet(sources: string[]): RE2Set {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE);
  for (const source of sources) set.add(source);
  set.compile();
  return set;
}

/** One after the other under one limit; false when the deadline came before all had been tried. */
function matchExpressions(
  open: [Entry, number[]][],
  texts: readonly string[],
  deadline: Deadline,
  first: Map<number, number>,
): boolean {
  let next = 0;
  let own = createDeadline(expressionLimitMs);
  const run = () => {
    for (; next < open.length; next += 1) {
      own = createDeadline(expressionLimitMs);
      const [entry, positions] = open[next] ?? [];
      const position = positions?.find((one) => entry?.expression?.test(texts[one] ?? ""));
      if (entry !== undefined && position !== undefined) first.set(entry.index, position);
    }
  };
  while (next < open.length) {
    const limit = Math.min(expressionLimitMs, deadline.left());
    if (limit <= 0) return false;
    if (runWithin(limit, run) !== undefined) continue;
    const [entry, positions] = open[next] ?? [];
    // It is to blame only when it had nearly all of the time for itself: others may have come before, and a busy machine may
    // have let the process stand still.
    if (own.left() > 0.1 * expressionLimitMs || entry === undefined) continue;
    first.set(entry.index, positions?.[0] ?? 0);
    next += 1;
  }
  return true;
}
