/** One chain of the audit, line by line: each must have the next number, and the hash of the line before it. */
import { type ChainHead, genesis, type LineHead } from "./line.ts";

export interface SeenLine {
  file: string;
  /** In the file, from 1. */
  line: number;
  /** Of its bytes as they are now. */
  hash: string;
  /** Undefined: it can't be read as a line. */
  head: Pick<LineHead, "chain" | "sequence" | "prev"> | undefined;
}

export interface ChainProblem {
  file: string;
  /** 0: of the whole file. */
  line: number;
  kind: "deleted" | "changed" | "reordered" | "added";
  message: string;
}

/** `pruned`: up to where the retention has removed it, as often as it did. */
export function verifyChain(chain: string, lines: SeenLine[], pruned: readonly ChainHead[]): ChainProblem[] {
  const problems = new Map<string, ChainProblem>();
  const report = ({ file, line }: SeenLine, kind: ChainProblem["kind"], message: string) => {
    const key = `${file}:${line}`;
    if (!problems.has(key)) problems.set(key, { file, line, kind, message });
  };
  const sequences = new Set(lines.flatMap(({ head }) => head?.sequence ?? []));
  /** Undefined: where the chain stands is not known since the line before. */
  let before: { sequence: number; hash: string; line: SeenLine } | undefined;

  for (const [index, line] of lines.entries()) {
    const { head, hash } = line;
    if (head === undefined || head.chain !== chain) {
      report(line, "changed", "it is not a line of this chain");
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
  const what = sequence === 1 ? "it" : `of the ${sequence - 1} lines before it some`;
  if (sequence === 1) report(line, "changed", `${what} does not begin the chain as first lines do`);
  else report(line, "deleted", `${what} are missing, and the retention has not removed exactly these`);
}

function checkStep(
  before: { sequence: number; hash: string; line: SeenLine },
  line: SeenLine,
  { sequence, prev }: Head,
  sequences: ReadonlySet<number>,
  report: Report,
): void {
  if (sequence === before.sequence + 1) {
    if (prev !== before.hash) report(before.line, "changed", "the line after it has another hash of it");
    return;
  }
  if (sequence <= before.sequence) {
    report(line, "reordered", `number ${sequence} stands behind number ${before.sequence}`);
    return;
  }
  const missing = countMissing(before.sequence + 1, sequence, sequences);
  if (missing === 0) report(line, "reordered", `number ${sequence} stands right behind number ${before.sequence}`);
  else
    report(
      line,
      "deleted",
      `${missing === 1 ? "1 line" : `${missing} lines`} before it ${missing === 1 ? "is" : "are"} missing`,
    );
}

function countMissing(from: number, to: number, sequences: ReadonlySet<number>): number {
  let present = 0;
  // The numbers in a changed line may be as far apart as anything.
  for (const sequence of sequences) if (sequence >= from && sequence < to) present++;
  return to - from - present;
}
