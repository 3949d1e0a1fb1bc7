/**
 * What a model service refuses, as rules for its double. A rule is a claim about the real service, so it names the public page
 * that it comes from, and the day on which somebody read it there.
 */
import type { IncomingHttpHeaders } from "node:http";

export interface ModelCall {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** What the double has answered so far, as sent: the frames of each stream, joined. The newest is last. */
  answers: readonly string[];
  /** The body of the request for each of `answers`. */
  asked: readonly Record<string, unknown>[];
}

/** The response of the service, as it would word it. */
export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

export interface ModelRule {
  /** A sentence: what is refused. */
  says: string;
  /** The address of the public page, or the file and line of the service's published source. */
  source: string;
  /** The day on which the page was read, as YYYY-MM-DD. */
  read: string;
  refuse(call: ModelCall): Refusal | undefined;
}

/** The first rule that refuses decides. */
export function refusalOf(rules: readonly ModelRule[], call: ModelCall): Refusal | undefined {
  for (const rule of rules) {
    const refusal = rule.refuse(call);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
