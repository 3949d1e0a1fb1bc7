/**
 * Turns a question into a query for the index: days become day terms, and words that carry meaning become terms. Stop
 * words count only if there are no other words; a very long question keeps its most specific words. People's text never
 * reaches FTS5 as syntax, because each term is quoted and contains only letters, marks and digits.
 */
import { type AskedTerm, askedTermsOf, emptyWords, foldText } from "../lib/text/words.ts";
import { askedDaysOf } from "./dates.ts";

/** More terms than this would make the search slower but not better. */
const maxTerms = 24;
const readCharacters = 20_000;

export interface SearchQuestion {
  terms: AskedTerm[];
  dayTerms: string[];
  /** Quoted texts with case and accents folded. A passage that contains one literally ranks higher. */
  phrases: string[];
}

export function questionOf(text: string, now: number): SearchQuestion {
  const read = text.slice(0, readCharacters);
  const { terms: dayTerms, rest } = askedDaysOf(read.slice(0, 1_000), now);
  const all = unique(askedTermsOf(rest + read.slice(1_000)));
  const telling = all.filter((term) => !emptyWords.has(term.text));
  const phrases = Array.from(read.matchAll(/["“”«»„]([^"“”«»„]{3,200})["“”«»„]/gu), (found) =>
    foldText(found[1] ?? "").trim(),
  );
  const isOnlyEmpty = telling.length === 0 && dayTerms.length === 0;
  return { terms: maxTelling(isOnlyEmpty ? all : telling), dayTerms, phrases };
}

/** Returns undefined if there is nothing to search for. `scopeTerms` must not contain people's text. */
export function matchExpression(question: SearchQuestion, scopeTerms: readonly string[]): string | undefined {
  const said = question.terms.map(({ text, isPrefix }) => `"${text}"${isPrefix ? " *" : ""}`);
  const asked = [
    ...(said.length === 0 ? [] : [`{heading trail body} : (${said.join(" OR ")})`]),
    ...(question.dayTerms.length === 0 ? [] : [`day : (${question.dayTerms.map((term) => `"${term}"`).join(" OR ")})`]),
  ];
  if (asked.length === 0 || scopeTerms.length === 0) return undefined;
  return `scope : (${scopeTerms.map((term) => `"${term}"`).join(" OR ")}) AND (${asked.join(" OR ")})`;
}

function unique(terms: readonly AskedTerm[]): AskedTerm[] {
  return [...new Map(terms.map((term) => [term.text, term])).values()];
}

function maxTelling(terms: AskedTerm[]): AskedTerm[] {
  if (terms.length <= maxTerms) return terms;
  const weight = ({ text }: AskedTerm) => (/\p{N}/u.test(text) ? 8 : Math.min(text.length, 12));
  const kept = new Set(terms.toSorted((one, other) => weight(other) - weight(one)).slice(0, maxTerms));
  return terms.filter((term) => kept.has(term));
}
