/**
 * Matches many patterns against several texts in bounded time. One pass over a text finds its atoms, and so the
 * patterns that can match at all (prefilter.ts). A JavaScript expression runs for at most 50 ms, and a timeout counts
 * as a match. RE2 may be stopped at any point, because its automata keep only caches of complete entries.
 */
import type { RE2Set } from "re2js";
import { createAtomFinder } from "./atoms.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import type { Readings } from "./pattern-compiler.ts";
import { readPattern } from "./pattern-compiler.ts";
import { atomsOf } from "./prefilter.ts";
import { compileSet, setsOf } from "./re2-sets.ts";
import { runUntil, runWithin } from "./time-limit.ts";

export interface PatternHits {
  /** Maps a pattern's index to the index of the first text that it matched. */
  first: Map<number, number>;
  /** False if the deadline passed before every pattern was tried. */
  isComplete: boolean;
}

export interface PatternSet {
  compileAll(): void;
  /** `earlier` contains the matches in texts before `start`. Patterns that matched there are not tried again. */
  match(
    texts: readonly string[],
    deadline: Deadline,
    earlier?: { hits: ReadonlyMap<number, number>; start: number },
  ): PatternHits;
}

interface Entry {
  index: number;
  re2: string | undefined;
  expression: RegExp | undefined;
  /** Atom numbers per alternative, all of which must occur. If absent, the pattern is always tried. */
  atoms: number[][] | undefined;
  isAtom: boolean;
  set: RE2Set | undefined;
}

/** Even the slowest pattern reads this many characters in tens of milliseconds. Longer texts get a time limit. */
const maxUntimedCharacters = 2_048;
/** These assert a position in the text, which the search for atoms ignores. */
const isAboutPlace = /[$^]|\\b/i;
const expressionLimitMs = 50;

export function createPatternSet(patterns: readonly (Readings | undefined)[]): PatternSet {
  const atomNumbers = new Map<string, number>();
  const entries = patterns.flatMap((pattern, index) =>
    pattern === undefined ? [] : [entryOf(pattern, index, atomNumbers)],
  );
  const findAtoms = createAtomFinder([...atomNumbers.keys()]);
  const together = entries.filter(({ re2, atoms }) => re2 !== undefined && atoms === undefined);
  const togetherSets = setsOf(together.map(({ re2 }) => re2 ?? ""));
  const expressions = entries.filter(({ expression }) => expression !== undefined);

  function matchText(text: string, position: number, hits: Map<number, number>, deadline: Deadline) {
    const within = <T>(work: () => T): { value: T } | undefined => {
      if (text.length > maxUntimedCharacters && candidates.length + together.length > 0)
        return runUntil(deadline, work);
      return deadline.left() > 0 ? { value: work() } : undefined;
    };
    const found = findAtoms(text, deadline);
    if (found === undefined) return undefined;
    const candidates = entries.filter(
      (entry) =>
        entry.re2 !== undefined && entry.atoms !== undefined && !hits.has(entry.index) && canMatch(entry, found),
    );
    // Compile outside of the time limit, which must not interrupt the library while it builds shared state.
    candidates.forEach(compileEntry);
    const hit = (entry: Entry | undefined) => {
      if (entry !== undefined && !hits.has(entry.index)) hits.set(entry.index, position);
    };
    // Kept across restarts of the work below.
    let next = 0;
    const tried = within(() => {
      for (; next < candidates.length; next += 1) {
        const entry = candidates[next];
        if (entry?.isAtom || (entry?.set?.match(text).length ?? 0) > 0) hit(entry);
      }
      for (const number of together.length === 0 ? [] : togetherSets.match(text)) hit(together[number]);
    });
    return tried === undefined ? undefined : found;
  }

  return {
    compileAll() {
      entries.forEach(compileEntry);
    },
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
  const atoms = isBoth ? undefined : atomsOf(source, javascript !== undefined);
  const isUsable = atoms?.every((branch) => branch.every((atom) => readPattern(atom)?.re2 !== undefined)) === true;
  const numberOf = (atom: string) => {
    const number = atomNumbers.get(atom) ?? atomNumbers.size;
    atomNumbers.set(atom, number);
    return number;
  };
  return {
    index,
    re2,
    expression: javascript === undefined ? undefined : new RegExp(javascript, "i"),
    atoms: isUsable ? atoms?.map((branch) => branch.map(numberOf)) : undefined,
    isAtom:
      isUsable && atoms?.length === 1 && atoms[0]?.length === 1 && atoms[0][0] === source && !isAboutPlace.test(source),
    set: undefined,
  };
}

function compileEntry(entry: Entry): void {
  if (entry.re2 !== undefined && entry.atoms !== undefined && !entry.isAtom) entry.set ??= compileSet([entry.re2]);
}

function canMatch({ atoms }: Entry, found: ReadonlySet<number>): boolean {
  return atoms === undefined || atoms.some((branch) => branch.every((atom) => found.has(atom)));
}

/** Runs one expression after the other, each for at most 50 ms. Returns false if the deadline passed first. */
function matchExpressions(
  open: [Entry, number[]][],
  texts: readonly string[],
  deadline: Deadline,
  first: Map<number, number>,
): boolean {
  let next = 0;
  /** Time that the expression at `next` has used, over all restarts. */
  let own = { of: -1, time: createDeadline(expressionLimitMs) };
  const run = () => {
    for (; next < open.length; next += 1) {
      if (own.of !== next) own = { of: next, time: createDeadline(expressionLimitMs) };
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
    // Blame the expression only if it used nearly all of the time itself, not other expressions or a suspension.
    if (own.time.left() > 0.1 * expressionLimitMs || entry === undefined) continue;
    first.set(entry.index, positions?.[0] ?? 0);
    next += 1;
  }
  return true;
}
