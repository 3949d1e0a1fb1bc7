/** Finds spans within a line that must not be split. Every pattern is bounded so that no text is slow to scan. */

export interface Span {
  start: number;
  end: number;
}

const patterns = [
  /!?\[[^\]\n]{0,500}\]\([^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?(?:[ \t]+"[^"\n]{0,300}")?\)/g,
  /<[^<>\s]{1,500}>/g,
  /\bhttps?:\/\/[^\s<>]{1,2000}/g,
  /(\*\*|__|~~|\|\|)(?=\S)[^\n]{1,300}?(?<=\S)\1/g,
];

/** Returns the spans that start in `text`, as offsets in order. Merges overlapping spans. */
export function unbreakableSpans(text: string): Span[] {
  const spans = codeSpans(text);
  for (const pattern of patterns) {
    for (const found of text.matchAll(pattern)) {
      spans.push({ start: found.index, end: found.index + found[0].length });
    }
  }
  return merged(spans);
}

function merged(spans: Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.start - other.start)) {
    const last = result.at(-1);
    if (last !== undefined && span.start < last.end) last.end = Math.max(last.end, span.end);
    else result.push(span);
  }
  return result;
}

function codeSpans(text: string): Span[] {
  const spans: Span[] = [];
  for (const line of text.matchAll(/[^\n]+/g)) {
    const runs = [...line[0].matchAll(/`+/g)].map((run) => ({ start: line.index + run.index, length: run[0].length }));
    const next = nextOfSameLength(runs);
    for (let index = 0; index < runs.length; ) {
      const [run, partner] = [runs[index], next[index]];
      const close = partner === undefined ? undefined : runs[partner];
      if (run === undefined || partner === undefined || close === undefined) {
        index++;
        continue;
      }
      spans.push({ start: run.start, end: close.start + close.length });
      index = partner + 1;
    }
  }
  return spans;
}

function nextOfSameLength(runs: { length: number }[]): (number | undefined)[] {
  const seen = new Map<number, number>();
  const next: (number | undefined)[] = [];
  for (const [index, { length }] of [...runs.entries()].reverse()) {
    next[index] = seen.get(length);
    seen.set(length, index);
  }
  return next;
}
