/** Compiles RE2 patterns into one set, or into several if one would be too large. */
import { RE2JS, RE2JSException, RE2Set } from "re2js";

export interface Re2Sets {
  match(text: string): number[];
}

export function setsOf(sources: readonly string[]): Re2Sets {
  const parts = compiledParts(sources, 0);
  return { match: (text) => parts.flatMap(({ set, start }) => set.match(text).map((position) => start + position)) };
}

function compiledParts(sources: readonly string[], start: number): { set: RE2Set; start: number }[] {
  if (sources.length === 0) return [];
  try {
    return [{ set: compileSet(sources), start }];
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException) || sources.length === 1) throw thrown;
    const half = Math.ceil(sources.length / 2);
    return [...compiledParts(sources.slice(0, half), start), ...compiledParts(sources.slice(half), start + half)];
  }
}

export function compileSet(sources: readonly string[]): RE2Set {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE);
  for (const source of sources) set.add(source);
  set.compile();
  return set;
}
