/** Finds the atoms (prefilter.ts) in a text. Never misses one, but may report a false one at a chunk boundary. */
import type { Deadline } from "./deadline.ts";
import { readPattern } from "./pattern-compiler.ts";
import { atomsOf } from "./prefilter.ts";
import { setsOf } from "./re2-sets.ts";

/** The deadline is checked after each chunk. Chunks overlap by the longest possible match of an atom. */
const chunkCharacters = 16_384;
/** Up to this number, JavaScript's engine searches for atoms one by one. Beyond it, one automaton is faster. */
const maxNativeAtoms = 128;
const minNativeCharacters = 2_048;
/** UTF-8 bytes per character. Texts above this use scripts that share few characters with atoms. */
const minNativeBytes = 1.3;
/** RE2 matches these two characters case-insensitively with `s` and `k`. */
const foldsToAscii = /[\u017f\u212a]/;

type AtomFinder = (text: string, deadline: Deadline) => Set<number> | undefined;

interface NumberedAtom {
  atom: string;
  number: number;
}

export function createAtomFinder(atoms: readonly string[]): AtomFinder {
  const numbered = atoms.map((atom, number): NumberedAtom => ({ atom, number }));
  const atStart = numbered.filter(({ atom }) => atom.startsWith("^"));
  const anywhere = numbered.filter(({ atom }) => !atom.startsWith("^"));
  // One character longer than the longest match so that a match never ends at the end of the chunk.
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
    for (let start = 0; ; start += chunkCharacters) {
      const part = text.slice(start, start + chunkCharacters + overlap);
      for (const position of sets.match(part)) found.add(atoms[position]?.number ?? -1);
      if (start + chunkCharacters + overlap >= text.length) return true;
      if (deadline.left() <= 0) return false;
    }
  };
}

/** Returns undefined if JavaScript's engine might read an atom differently from RE2, or if there are too many atoms. */
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

function isReadAlike({ atom }: NumberedAtom): boolean {
  const alone = atomsOf(atom, true);
  return alone?.length === 1 && alone[0]?.length === 1 && alone[0][0] === atom;
}

/** Doubled, because `.` can match a surrogate pair. */
function longest(atoms: readonly NumberedAtom[]): number {
  return 2 * Math.max(0, ...atoms.map(({ atom }) => atom.length));
}

function re2Of({ atom }: NumberedAtom): string {
  return readPattern(atom)?.re2 ?? "";
}
