/** Where in a model's Markdown a tag stands: in code, in a quotation or in the middle of a sentence, it is spoken about. */

import type { Tag } from "./model-tags.ts";

export interface TextPlace {
  add(text: string): void;
  /** Of the line, what has come so far. Of a long one, the beginning and the end. */
  line(): string;
  /** The last line that is not empty, before this one. */
  lead(): string;
  isCode(): boolean;
}

const shortLength = 200;
/** In a list, it is indented. */
const fenceLine = /^\s*(?:(?:[-*+>]|\d+[.)])\s+)*(`{3,}|~{3,})(.*)$/;

export function createTextPlace(): TextPlace {
  let line = "";
  /** How many backticks began the code in this line, and how many stand at its end so far. */
  let [open, ticks] = [0, 0];
  /** Enough of a long line to say what it is, because it is asked about with every piece of it. */
  let short = "";
  let lead = "";
  let fence = "";

  function end(): void {
    const [, marks = "", rest = ""] = fenceLine.exec(line) ?? [];
    if (fence !== "") {
      if (marks.startsWith(fence) && rest.trim() === "") fence = "";
    } else if (marks !== "" && !rest.includes("`")) fence = marks;
    if (short.trim() !== "") lead = short;
    line = "";
    short = "";
    [open, ticks] = [0, 0];
  }

  /** Code ends at as many backticks as it began with. */
  function openAfter(run: number): number {
    return run === 0 ? open : open === 0 ? run : open === run ? 0 : open;
  }

  function countTicks(part: string): void {
    for (const [run] of part.matchAll(/`+|[^`]+/g)) {
      if (run.startsWith("`")) ticks += run.length;
      else [open, ticks] = [openAfter(ticks), 0];
    }
  }

  return {
    add(text) {
      for (const [index, part] of text.split("\n").entries()) {
        if (index > 0) end();
        line += part;
        countTicks(part);
        short += part;
        if (short.length > 4 * shortLength) short = short.slice(0, shortLength) + short.slice(-shortLength);
      }
    },
    line: () => short,
    lead: () => lead,
    isCode: () => fence !== "" || fenceLine.test(short) || openAfter(ticks) !== 0,
  };
}

/** Directly behind a quotation mark, or on a quoted line. */
export function isQuoted(before: string): boolean {
  return /["'“‘«„「『(]$|^\s*>/.test(before);
}

/** In a list or table that explains tags, each tag stands before its explanation. */
function isListed(before: string, after: string): boolean {
  return /^\s*(?:[-*+|]|\d+[.)])\s*$/.test(before) && /^\s*(?:[:|=–—]|-\s)/.test(after);
}

/** The words around a tag, on its line, make one sentence with it. */
export function isInSentence(before: string, after: string): boolean {
  if (isQuoted(before) || isListed(before, after)) return true;
  return /[\p{L}\p{N},;]\s*$/u.test(before) && /^(?:[^\S\n]+[^\s<[]|[,.;:)!?"'”])/u.test(after);
}

/** As `isInSentence`, for a whole call. A sentence can also begin with it. */
export function isCallInSentence(before: string, after: string): boolean {
  return isInSentence(before, after) || /^(?:[^\S\n]+\p{Ll}|[,;)"'”])/u.test(after);
}

/** Thinking begins with any words, so only what is said of the tag itself makes a sentence with it. */
export function isThoughtInSentence(before: string, after: string): boolean {
  const isSaidOf = /^(?:[^\S\n]+(?:tags?|tokens?|blocks?|and|or|is)\b|[,;:)?"'”])/i.test(after);
  const isSubject =
    before.trim() === "" && /^[^\S\n]+(?:(?:tag|token|block)s?|is an?|and|means|marks|opens|begins)\b/.test(after);
  return isQuoted(before) || isListed(before, after) || isSubject || (isSaidOf && /[\p{L}\p{N},;]\s*$/u.test(before));
}

/** Words that introduce an example of a call, not a call. */
const exampleWords =
  /\b(?:examples?|e\.g|for instance|like this|like so|syntax|beispiel\w*|so aus|par exemple|ejemplo|esempio)\b|\blooks? like\W*$/i;

export function introducesExample(lead: string): boolean {
  return exampleWords.test(lead);
}

/** What others wrote, as code, so that nobody takes it for the model's own words. */
export function asCode(raw: string, line: string): string {
  if (!/[`\n]/.test(raw)) return `\`${raw}\``;
  const ticks = [...raw.matchAll(/`+/g)].map(([run]) => run.length);
  const fence = "`".repeat(Math.max(2, ...ticks) + 1);
  return `${line.trim() === "" ? "" : "\n"}${fence}\n${raw}\n${fence}\n`;
}

/** Opening tags that were left to people, so that their closing ones are, too. */
export function createSpokenTags() {
  const open = new Map<string, number>();
  return {
    add({ name, isClosing }: Tag): void {
      if (!isClosing) open.set(name, (open.get(name) ?? 0) + 1);
    },
    closes({ name, isClosing }: Tag): boolean {
      const count = open.get(name) ?? 0;
      if (!isClosing || count === 0) return false;
      open.set(name, count - 1);
      return true;
    },
  };
}
