/** Finds how long a turn waited for people. Cards that were open at the same time count once. */
import type { ApprovalRow } from "./report-texts.ts";

interface Span {
  from: number;
  to: number;
}

export function waitsOf(asked: readonly ApprovalRow[], within: Span): { waitedMs: number; waitedFor: string[] } {
  const waited = asked.filter(({ body }) => body.grantIds.length === 0);
  const spans = waited
    .map(({ body }) => ({
      from: Math.max(body.createdAt, within.from),
      to: Math.min(body.decidedAt ?? body.votes.at(-1)?.at ?? within.to, within.to),
    }))
    .filter(({ from, to }) => to > from)
    .sort((one, other) => one.from - other.from);
  let waitedMs = 0;
  let coveredTo = within.from;
  for (const { from, to } of spans) {
    waitedMs += Math.max(0, to - Math.max(from, coveredTo));
    coveredTo = Math.max(coveredTo, to);
  }
  const names = waited.flatMap(({ body }) => [
    ...body.votes.map(({ by }) => by),
    ...(body.decidedBy ? [body.decidedBy] : []),
  ]);
  return { waitedMs, waitedFor: [...new Set(names.map(({ name }) => name))] };
}
