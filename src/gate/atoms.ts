/**
 * Finds which atoms (prefilter.ts) are in a text. It may find one that is not there, at the borders of the parts that a text
 * is read in; it never misses one.
 *
 * Atoms have no loops, so that each is no longer than it is written, and a text can be read in parts that overlap by that.
 */
import type { Deadline } from "./deadline.ts";
import { readPattern } from "./pattern-compiler.ts";
import { atomsOf } from "./prefilter.ts";
import { setsOf } from "./re2-sets.ts";

/** Characters that are read before the deadline is looked at again. */
const readAtOnce = 16_384;
/** Atoms that JavaScript's engine looks for one by one; with more of them one automaton is faster. */
const maxNativeAtoms = 128;
/** Characters of a text from which on that is worth it. */
const minNativeCharacters = 2_048;
/** Bytes of UTF-8 for a character from which on it is faster: in scripts whose characters are in no atom. */
const minNativeBytes = 1.3;
/** To RE2 these are an `s` and a `k`. */
const foldsToAscii = /[\u017f\u212a]/;

/** Gives the numbers of the atoms that are in a text; undefined when the deadline came first. */
type AtomFinder = (text: string, deadline: Deadline) => Set<number> | undefined;

interface NumberedAtom {
  atom: string;
  number: number;
}

export function createAtomFinder(atoms: readonly string[]): AtomFinder {
  const numbered = atoms.map((atom, number): NumberedAtom => ({ atom, number }));
  const atStart = numbered.filter(({ atom }) => atom.startsWith("^"));
  const anywhere = numbered.filter(({ atom }) => !atom.startsWith("^"));
  // One more, so that its end is not the end of a match.
  const startLength = longest(atStart) + 1;
  const startSets = setsOf(atStart.map(re2Of));
  const findAutomatically = automaton(anywhere);
  const findNatively = nativeFinder(anywhere);
  return (text, deadline) => {
    if (deadline.left() <= 0) return undefined;
    const found = new Set<number>();
    for (const position of startSets.match(text.slice(0, startLength))) found.add(atStart[position]?.number ?? -1);
    const find = isForNative(text) ? (findNatively ?? findAutomatically) : findAutomatically;
    return find(text, found, deadline) ? found : undefined;
  };
}

type Find = (text: string, found: Set<number>, deadline: Deadline) => boolean;

function automaton(atoms: readonly NumberedAtom[]): Find {
  const sets = setsOf(atoms.map(re2Of));
  const overlap = longest(atoms) + 2;
  return (text, found, deadline) => {
    for (let start = 0; ; start += readAtOnce) {
      const part = text.slice(start, start + readAtOnce + overlap);
      for (const position of sets.match(part)) found.add(atoms[position]?.number ?? -1);
      if (start + readAtOnce + overlap >= text.length) return true;
      if (deadline.left() <= 0) return false;
    }
  };
}

/** Undefined where JavaScript's engine would read an atom differently, or there are too many. */
function nativeFinder(atoms: readonly NumberedAtom[]): Find | undefined {
  if (atoms.length > maxNativeAtoms || !atoms.every(isReadAlike)) return undefined;
  const expressions = atoms.map(({ atom, number }) => ({ expression: new RegExp(atom, "i"), number }));
  return (text, found, deadline) =>
    expressions.every(({ expression, number }) => {
      if (expression.test(text)) found.add(number);
      return deadline.left() > 0;
    });
}

function isForNative(text: string): boolean {
  const isLong = text.length >= minNativeCharacters;
  return isLong && Buffer.byteLength(text) >= minNativeBytes * text.length && !foldsToAscii.test(text);
}

/** By both engines: see `isForJavaScript`. */
function isReadAlike({ atom }: NumberedAtom): boolean {
  const alone = atomsOf(atom, true);
  return alone?.length === 1 && alone[0]?.length === 1 && alone[0][0] === atom;
}

/** Of what an atom can match: to `.` a pair of code units is one character. */
function longest(atoms: readonly NumberedAtom[]): number {
  return 2 * Math.max(0, ...atoms.map(({ atom }) => atom.length));
}

function re2Of({ atom }: NumberedAtom): string {
  return readPattern(atom)?.re2 ?? "";
}
