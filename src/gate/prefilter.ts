/**
 * Reduces a pattern to "atoms": short loop-free patterns that every match must contain. If one is missing from a text,
 * the pattern need not be tried. Must never exclude a match, so `atomsOf` returns undefined for what it does not
 * understand. Sets of patterns with loops such as `git\s.*push` need states for all combinations: 10 KB of Markdown
 * took 200 ms.
 */

/** Counts literal characters. Shorter atoms would occur in nearly every text. */
const minLiterals = 2;
/** If a pattern has more atoms, the longest ones are used. */
const maxAtoms = 4;

interface Item {
  /** The pattern's text, with non-capturing groups. Empty if the item is not fixed. */
  source: string;
  /** True if the item has no loop, so it may be part of an atom. */
  isFixed: boolean;
  /** The fewest literal characters of any alternative. */
  literals: number;
  /** Atoms inside a group that may repeat but must match at least once. */
  inner: Atom[];
}

interface Atom {
  source: string;
  literals: number;
}

interface Reader {
  pattern: string;
  at: number;
  /** True for JavaScript's engine, where `.` and negated classes may match half a surrogate pair. */
  isForJavaScript: boolean;
}

class NotUnderstood extends Error {}

/** Returns the atoms of each alternative, or undefined if the pattern may match any text. */
export function atomsOf(pattern: string, isForJavaScript: boolean): string[][] | undefined {
  const reader: Reader = { pattern, at: 0, isForJavaScript };
  // One of the engines applies a quantifier only to the second half of a surrogate pair.
  if (/[\ud800-\udfff]/.test(pattern)) return undefined;
  try {
    const alternatives = readAlternatives(reader);
    if (reader.at < pattern.length) return undefined;
    const atoms = alternatives.map((items) => longest(atomsIn(items)));
    return atoms.every((list) => list.length > 0) ? atoms : undefined;
  } catch (thrown) {
    if (thrown instanceof NotUnderstood || thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

function longest(atoms: Atom[]): string[] {
  const useful = atoms.filter(({ literals }) => literals >= minLiterals);
  return useful
    .toSorted((one, other) => other.literals - one.literals)
    .slice(0, maxAtoms)
    .map(({ source }) => source);
}

function readAlternatives(reader: Reader): Piece[][] {
  const alternatives: Piece[][] = [[]];
  while (reader.at < reader.pattern.length && reader.pattern.charAt(reader.at) !== ")") {
    if (reader.pattern.charAt(reader.at) === "|") {
      reader.at += 1;
      alternatives.push([]);
    } else alternatives.at(-1)?.push({ item: readItem(reader), times: readQuantifier(reader) });
  }
  return alternatives;
}

interface Piece {
  item: Item;
  /** `many` means one or more. */
  times: "once" | "many" | "optional";
}

function atomsIn(pieces: readonly Piece[]): Atom[] {
  const atoms: Atom[] = [];
  let open: Atom = { source: "", literals: 0 };
  const close = (next: Atom = { source: "", literals: 0 }) => {
    if (open.source !== "") atoms.push(open);
    open = next;
  };
  for (const { item, times } of pieces) {
    if (times !== "optional") atoms.push(...item.inner);
    if (times === "optional" || !item.isFixed) close();
    else {
      open = { source: open.source + item.source, literals: open.literals + item.literals };
      // The next pieces follow the last repetition, so start a new atom with this repeated item.
      if (times === "many") close({ source: item.source, literals: item.literals });
    }
  }
  close();
  return atoms;
}

function readItem(reader: Reader): Item {
  const { pattern, at, isForJavaScript } = reader;
  const character = pattern.charAt(at);
  if (character === "(") return readGroup(reader);
  if (character === "[") return readClass(reader);
  if (character === "\\") return readEscape(reader);
  if (/[*+?{}\]]/.test(character)) throw new NotUnderstood();
  reader.at += 1;
  if (character === "^" || character === "$") return fixed(character, 0);
  if (character === ".") return isForJavaScript ? loose() : fixed(character, 0);
  return isForJavaScript && character > "\x7f" ? loose() : fixed(character, 1);
}

function readEscape(reader: Reader): Item {
  const letter = reader.pattern.charAt(reader.at + 1);
  reader.at += 2;
  const source = `\\${letter}`;
  if (/[bBsdwnrtfv]/.test(letter)) return fixed(source, 0);
  if (/[SDW]/.test(letter)) return reader.isForJavaScript ? loose() : fixed(source, 0);
  if (letter === "" || /[A-Za-z0-9]/.test(letter) || letter > "\x7f") throw new NotUnderstood();
  return fixed(source, 1);
}

function readClass(reader: Reader): Item {
  const start = reader.at;
  const { pattern } = reader;
  const isNegated = pattern.charAt(start + 1) === "^";
  reader.at += isNegated ? 2 : 1;
  if (pattern.charAt(reader.at) === "]") throw new NotUnderstood();
  while (reader.at < pattern.length && pattern.charAt(reader.at) !== "]") {
    reader.at += pattern.charAt(reader.at) === "\\" ? 2 : 1;
  }
  if (reader.at >= pattern.length) throw new NotUnderstood();
  reader.at += 1;
  const source = pattern.slice(start, reader.at);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches everything that is not ASCII.
  if (reader.isForJavaScript && (isNegated || /[^\x00-\x7f]|\\[^sdwnrtfv\W]/.test(source))) return loose();
  return fixed(source, 0);
}

function readGroup(reader: Reader): Item {
  const opening = /^\((?:\?(?:[:=!]|<[=!]))?/.exec(reader.pattern.slice(reader.at))?.[0] ?? "";
  reader.at += opening.length;
  if (opening === "(" && reader.pattern.charAt(reader.at) === "?") throw new NotUnderstood();
  const alternatives = readAlternatives(reader);
  if (reader.pattern.charAt(reader.at) !== ")") throw new NotUnderstood();
  reader.at += 1;
  // A lookaround is not part of the match, and the text of a negative one must not occur.
  if (/[=!]$/.test(opening)) return loose();
  const isFixed = alternatives.every((pieces) => pieces.every(({ item, times }) => item.isFixed && times === "once"));
  if (!isFixed) return { ...loose(), inner: alternatives.length === 1 ? atomsIn(alternatives[0] ?? []) : [] };
  const sources = alternatives.map((pieces) => pieces.map(({ item }) => item.source).join(""));
  const counts = alternatives.map((pieces) => pieces.reduce((sum, { item }) => sum + item.literals, 0));
  return fixed(`(?:${sources.join("|")})`, Math.min(...counts));
}

function readQuantifier(reader: Reader): Piece["times"] {
  const [written, braces] =
    /^(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/.exec(reader.pattern.slice(reader.at, reader.at + 30)) ?? [];
  if (written === undefined) return "once";
  reader.at += written.length;
  if (braces !== undefined) return Number(braces) > 0 ? "many" : "optional";
  return written.startsWith("+") ? "many" : "optional";
}

function fixed(source: string, literals: number): Item {
  return { source, isFixed: true, literals, inner: [] };
}

function loose(): Item {
  return { source: "", isFixed: false, literals: 0, inner: [] };
}
