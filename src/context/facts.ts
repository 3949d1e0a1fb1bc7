/**
 * Finds the facts that a summary must keep and code can check: file paths, links, and numbers with a unit or a
 * currency. Every pattern runs in linear time, because the text can be anything.
 */

/** Matches longer than this are hashes or noise. */
const maxFactCharacters = 160;
/** Only this much of each text is searched. */
const maxSearchedCharacters = 20_000;

const units = [
  "%|€|£|¥|\\$|°C?|°F",
  "EUR|USD|GBP|CHF|JPY|euros?|dollars?|pounds?|cents?",
  "ms|s|sec|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?",
  "Stunden?|Tagen?|Tage|Wochen?|Monaten?|Monate|Jahren?|Jahre|Uhr",
  "B|KB|MB|GB|TB|kB|KiB|MiB|GiB|kbit|Mbit|Gbit",
  "mm|cm|m|km|g|kg|t|ml|l|W|kW|kWh|V|Hz|kHz|MHz|GHz|px|dpi|fps|rpm|ppm",
].join("|");
const space = "[ \\u00a0\\u202f]";
const amount = "\\d{1,15}(?:[.,'’]\\d{1,9}){0,5}";
const patterns: readonly RegExp[] = [
  /https?:\/\/[^\s\p{C}<>"'`)\]}]{1,160}/giu,
  // A path with at least one slash and a letter, or a file name with an extension.
  /(?<![\p{L}\p{N}_./~-])(?:~|\.{1,2})?\/?(?:[\p{L}\p{N}_.@-]{1,60}\/){1,12}[\p{L}\p{N}_.@-]{0,80}/gu,
  /(?<![\p{L}\p{N}_./~-])[\p{L}\p{N}_-]{1,80}(?:\.[\p{L}\p{N}_-]{1,40}){0,3}\.(?:[a-z][a-z0-9]{1,4}|[ch])(?![\p{L}\p{N}_/])/giu,
  new RegExp(`[€$£¥]${space}?${amount}(?:${space}?(?:k|m|bn|million|billion))?(?![\\p{L}\\p{N}])`, "gu"),
  new RegExp(`(?<![\\p{L}\\p{N}.,])${amount}(?:${space}|-)?(?:${units})(?![\\p{L}\\p{N}])`, "gu"),
];

/** Returns each fact once, as written, in the order of the text. */
export function factsIn(text: string): string[] {
  const searched = text.slice(0, maxSearchedCharacters);
  const found = patterns.flatMap((pattern) =>
    [...searched.matchAll(pattern)].map(({ 0: fact, index }) => ({ fact: trimmed(fact), index })),
  );
  const facts = found.sort((one, other) => one.index - other.index).flatMap(({ fact }) => (isFact(fact) ? [fact] : []));
  return [...new Set(facts)].filter((fact) => !facts.some((other) => other !== fact && other.endsWith(`/${fact}`)));
}

/** Returns the facts that `text` does not contain, at most `limit`. */
export function lostFacts(facts: readonly string[], text: string, limit: number): string[] {
  const kept = new Set(factsIn(text).map(factKey));
  const searched = factKey(text);
  const isNumber = (fact: string) => /^[€$£¥\d]/.test(fact);
  const lost = facts.filter(
    (fact) => !kept.has(factKey(fact)) && (isNumber(fact) || !searched.includes(factKey(fact))),
  );
  return [...new Map(lost.map((fact) => [factKey(fact), fact])).values()].slice(0, limit);
}

function factKey(text: string): string {
  return text.replace(/[\s'’-]+/g, "").toLowerCase();
}

/** Removes punctuation after a fact, which belongs to the sentence. */
function trimmed(fact: string): string {
  return fact.replace(/[.,;:!?]{1,20}$/u, "").trim();
}

function isFact(fact: string): boolean {
  if (fact.length < 2 || fact.length > maxFactCharacters) return false;
  // `and/or` and `1/2` are not paths.
  const isShortPair = /^[^/.~]+\/[^/.]*$/u.test(fact) && fact.length < 12;
  return /[\p{L}€$£¥%°]/u.test(fact) && !isShortPair;
}
