/**
 * Splits text into search terms, in the same way for indexed text and for questions (memory, chat log):
 *
 *   1. fold compatibility forms, case, accents, and Arabic and Hebrew vowel signs into one spelling
 *   2. split into words: runs of letters, marks and digits, or single emoji
 *   3. split scripts without spaces into overlapping pairs (Chinese, Japanese, Korean) or triples (Thai and similar)
 *   4. replace irregular English forms with their base form (`went` → `go`); the index stems regular ones
 */

const pairScripts = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー々";
const tripleScripts = "\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
const unspacedRun = new RegExp(`[${pairScripts}]+|[${tripleScripts}]+`, "gu");
const isTriple = new RegExp(`[${tripleScripts}]`, "u");
const isUnspaced = new RegExp(`[${pairScripts}${tripleScripts}]`, "u");

/** Each group has the base form first, then the forms that a stemmer can't reduce to it. */
const irregularForms = `
go went gone|buy bought|see saw seen|take took taken|give gave given|make made|find found|get got gotten|come came
|meet met|run ran|write wrote written|say said|tell told|think thought|know knew known|feel felt|leave left|lose lost
|win won|begin began begun|teach taught|catch caught|bring brought|build built|send sent|spend spent|keep kept
|sleep slept|eat ate eaten|drink drank drunk|drive drove driven|ride rode ridden|fly flew flown|grow grew grown
|draw drew drawn|sing sang sung|swim swam swum|speak spoke spoken|break broke broken|choose chose chosen|wear wore worn
|hold held|stand stood|understand understood|fall fell fallen|hear heard|pay paid|sell sold|lead led|fight fought
|seek sought|sit sat|throw threw thrown|show shown|become became|forget forgot forgotten|wake woke woken|hide hid hidden
|steal stole stolen|freeze froze frozen|shake shook shaken|rise rose risen|shrink shrank shrunk|bind bound|dig dug
|child children|woman women|man men|foot feet|tooth teeth|mouse mice|goose geese|wife wives|knife knives|leaf leaves
|shelf shelves|index indices|good better best|bad worse worst`;

const baseForms = new Map(
  irregularForms.split("|").flatMap((line) => {
    const [base = "", ...forms] = line.trim().split(/\s+/);
    return forms.map((form) => [form, base] as const);
  }),
);

export function foldText(text: string): string {
  const lower = text.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII.
  if (/^[\x00-\x7f]*$/.test(lower)) return lower;
  return lower
    .normalize("NFKD")
    .replace(/[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]/g, "")
    .replaceAll("\u0649", "\u064a")
    .replaceAll("\u0629", "\u0647")
    .normalize("NFC");
}

/** Returns all terms of a text in order. Terms contain only letters, marks and digits. */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const word of wordsOf(text)) {
    if (isUnspaced.test(word)) terms.push(...scriptTerms(word, (run) => grams(run, true)));
    else terms.push(baseForms.get(word) ?? word);
  }
  return terms;
}

/** A term of a question. If `isPrefix`, the term matches every term that starts with it. */
export interface AskedTerm {
  text: string;
  isPrefix: boolean;
}

/** A run that is shorter than a pair or triple of its script matches all pairs or triples that start with it. */
export function askedTermsOf(text: string): AskedTerm[] {
  const exact = (term: string) => ({ text: term, isPrefix: false });
  return wordsOf(text).flatMap((word) => {
    if (!isUnspaced.test(word)) return [exact(baseForms.get(word) ?? word)];
    return scriptTerms<AskedTerm>(
      word,
      (run) => {
        const isShort = Array.from(run).length < pieceLength(run);
        return isShort ? [{ text: run, isPrefix: true }] : grams(run, false).map(exact);
      },
      exact,
    );
  });
}

export function wordsOf(text: string): string[] {
  const folded = foldText(text).replace(/['’](?:s|t|d|ll|re|ve|m)(?![\p{L}\p{N}])/gu, " ");
  return (folded.match(/[\p{L}\p{M}\p{N}]+|\p{Extended_Pictographic}/gu) ?? []).map((word) =>
    /^\p{Extended_Pictographic}$/u.test(word) && !/[\p{L}\p{N}]/u.test(word)
      ? `emoji${(word.codePointAt(0) ?? 0).toString(16)}`
      : word,
  );
}

function scriptTerms(word: string, cut: (run: string) => string[]): string[];
function scriptTerms<T>(word: string, cut: (run: string) => T[], whole: (text: string) => T): T[];
function scriptTerms<T>(word: string, cut: (run: string) => T[], whole?: (text: string) => T): T[] {
  const terms: T[] = [];
  const keep = whole ?? ((text: string) => text as T);
  let end = 0;
  for (const { 0: run, index } of word.matchAll(unspacedRun)) {
    if (index > end) terms.push(keep(word.slice(end, index)));
    terms.push(...cut(run));
    end = index + run.length;
  }
  if (end < word.length) terms.push(keep(word.slice(end)));
  return terms;
}

/** Splits a run into overlapping pieces. `withTail` adds shorter ones at the end so that short questions match. */
function grams(run: string, withTail: boolean): string[] {
  const characters = Array.from(run);
  const size = pieceLength(run);
  const last = withTail ? characters.length - 1 : Math.max(0, characters.length - size);
  return characters.slice(0, last + 1).map((_, index) => characters.slice(index, index + size).join(""));
}

function pieceLength(run: string): number {
  return isTriple.test(run) ? 3 : 2;
}

export const emptyWords: ReadonlySet<string> = new Set(
  `a an and any are as at be been being but by can could did do does doing done during for from get had has have having
  he her hers him his how i if in into is it its just me my no not of on or our she should so some such than that the
  their them then there these they this those to too us was we were what when where which who whom whose why will with
  would you your about after before tell please know say`.split(/\s+/),
);
