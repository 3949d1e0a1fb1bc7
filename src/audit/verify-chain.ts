/** Checks one chain line by line: each line must have the next number and the hash of the previous line. */
import { type ChainHead, genesis, type LineHead } from "./line.ts";

export interface SeenLine {
  file: string;
  line: number;
  hash: string;
  head: Pick<LineHead, "chain" | "sequence" | "prev"> | undefined;
}

export interface ChainProblem {
  file: string;
  /** 0 for a problem of the entire file. */
  line: number;
  kind: "deleted" | "changed" | "reordered" | "added";
  message: string;
}

/** `pruned` contains the head at the end of each part that retention has removed. */
export function verifyChain(chain: string, lines: SeenLine[], pruned: readonly ChainHead[]): ChainProblem[] {
  const problems = new Map<string, ChainProblem>();
  const report = ({ file, line }: SeenLine, kind: ChainProblem["kind"], message: string) => {
    const key = `${file}:${line}`;
    if (!problems.has(key)) problems.set(key, { file, line, kind, message });
  };
  const sequences = new Set(lines.flatMap(({ head }) => head?.sequence ?? []));
  let before: { sequence: number; hash: string; line: SeenLine } | undefined;

  for (const [index, line] of lines.entries()) {
    const { head, hash } = line;
    if (head === undefined || head.chain !== chain) {
      report(line, "changed", "this is not a line of this chain");
      before = before && { sequence: before.sequence + 1, hash, line };
      continue;
    }
    if (index === 0) checkStart(line, head, pruned, report);
    if (before !== undefined) checkStep(before, line, head, sequences, report);
    before = { sequence: head.sequence, hash, line };
  }
  return [...problems.values()];
}

type Report = (line: SeenLine, kind: ChainProblem["kind"], message: string) => void;
type Head = NonNullable<SeenLine["head"]>;

function checkStart(line: SeenLine, { sequence, prev }: Head, pruned: readonly ChainHead[], report: Report): void {
  if (sequence === 1 && prev === genesis) return;
  if (pruned.some((end) => end.sequence === sequence - 1 && end.hash === prev)) return;
  if (sequence === 1) report(line, "changed", "this is not a valid first line of a chain");
  else
    report(
      line,
      "deleted",
      `some of the ${sequence - 1} lines before it are missing, and retention did not remove them`,
    );
}

function checkStep(
  before: { sequence: number; hash: string; line: SeenLine },
  line: SeenLine,
  { sequence, prev }: Head,
  sequences: ReadonlySet<number>,
  report: Report,
): void {
  if (sequence === before.sequence + 1) {
    if (prev !== before.hash) report(before.line, "changed", "the next line has a different hash for this line");
    return;
  }
  if (sequence <= before.sequence) {
    report(line, "reordered", `number ${sequence} comes after number ${before.sequence}`);
    return;
  }
  const missing = countMissing(before.sequence + 1, sequence, sequences);
  if (missing === 0) report(line, "reordered", `number ${sequence} comes directly after number ${before.sequence}`);
  else
    report(
      line,
      "deleted",
      `${missing === 1 ? "1 line" : `${missing} lines`} before it ${missing === 1 ? "is" : "are"} missing`,
    );
}

function countMissing(from: number, to: number, sequences: ReadonlySet<number>): number {
  let present = 0;
  // A forged line can contain any number, so the range may be too large to loop over.
  for (const sequence of sequences) if (sequence >= from && sequence < to) present++;
  return to - from - present;
}
