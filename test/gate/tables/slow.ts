/** Patterns that make backtracking engines hang, as they have been published, and inputs of 1 MB that trigger them. */
import type { GateRules } from "../../../src/ports/gate.ts";

export const slowPatterns: string[] = [
  "(a+)+$",
  "(a+)+!",
  "([a-zA-Z]+)*\\d$",
  "(a|aa)+$",
  "(a|a?)+$",
  "(.*a){20}",
  "(x+x+)+y",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "curl[^|]*\\|\\s*(bash|sh|zsh)",
  "(\\w+\\s?)*$",
  "\\s+$",
  ".*.*.*=.*",
  "(?:(?:a|b)*a(?:a|b){12})x",
  "a.{40}b.{40}c",
  "^(\\w+)+@(\\w+)+\\.com$",
  "(?=(a+)+!)a",
  "^(?!.*(a+)+!$)b",
  "(a+)\\1+!",
  "(?<=(a|aa)+)!",
  "(?:(a*)*)\\1c",
];

const megabyte = 1_000_000;

/** Drawn once: that takes longer than to classify most of them. */
let drawnInputs: { name: string; text: string }[] | undefined;

export function largeInputs(): { name: string; text: string }[] {
  drawnInputs ??= drawLargeInputs();
  return drawnInputs;
}

function drawLargeInputs(): { name: string; text: string }[] {
  const random = randomNumbers(7);
  const drawn = (letters: string) =>
    Buffer.from(new Uint8Array(megabyte).map(() => letters.charCodeAt(random(letters.length)))).toString("latin1");
  const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join("");
  return [
    { name: "one letter", text: "a".repeat(megabyte) },
    { name: "one letter and an end", text: `${"a".repeat(megabyte)}!` },
    { name: "two letters at random", text: drawn("ab") },
    { name: "printable characters at random", text: drawn(printable) },
    { name: "curl again and again", text: "curl ".repeat(megabyte / 5) },
    { name: "blanks", text: " ".repeat(megabyte) },
    { name: "line ends", text: "\n".repeat(megabyte / 2) },
    { name: "commands", text: "rm x; ".repeat(megabyte / 6) },
    { name: "open substitutions", text: "$(".repeat(megabyte / 2) },
    { name: "open braces", text: "{a,".repeat(megabyte / 3) },
    { name: "pipes", text: "a|".repeat(megabyte / 2) },
    { name: "combining marks out of order", text: `e${"\u0301\u0323".repeat(megabyte / 5)}` },
    { name: "a ligature that grows when folded", text: "\ufdfa".repeat(megabyte / 3) },
    { name: "invisible characters", text: "a\u200b".repeat(megabyte / 5) },
    { name: "wide letters", text: "ｒｍ　".repeat(megabyte / 10) },
  ];
}

/** The same numbers in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

/** Danger patterns as skills carry them, all different; none matches ordinary text. */
export function manyPatterns(count: number): string[] {
  const shapes = [
    (n: number) => `\\bdestroy${n}\\s+--(?:all|force)\\b`,
    (n: number) => `drop\\s+(?:table|database)\\s+t${n}\\b`,
    (n: number) => `tool${n}\\s.*--delete`,
    (n: number) => `>\\s*/dev/disk${n}`,
    (n: number) => `(?:purge|wipe)-${n}\\s+[a-z/]+`,
    (n: number) => `service${n}\\s+(?:stop|kill)`,
  ];
  return Array.from({ length: count }, (_, index) => shapes[index % shapes.length]?.(index) ?? "");
}

export function rulesOf(patterns: readonly string[]): GateRules {
  return {
    rules: patterns.map((pattern, index) => ({
      kind: "danger",
      pattern,
      skill: "table",
      file: "skills/table/SKILL.md",
      line: index + 1,
    })),
    shellParameters: new Map(),
  };
}
