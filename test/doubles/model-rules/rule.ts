/**
 * What a model service refuses, as rules for its double. A rule is a claim about the real service, so it names the public page
 * that it comes from, and the day on which somebody read it there.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { InstalledModel } from "./ollama.ts";

export interface ModelCall {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** What the double has answered so far, as sent: the frames of each stream, joined. The newest is last. */
  answers: readonly string[];
  /** The models of a local server, the newest first. Undefined: it has every model that a request names. */
  installed?: readonly InstalledModel[] | undefined;
  /** The body of the request for each of `answers`. */
  asked: readonly Record<string, unknown>[];
}

/** The response of the service, as it would word it. Text is sent as it is, everything else as JSON. */
export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

export interface ModelRule {
  /** A sentence: what is refused, or done instead. */
  says: string;
  /** The address of the public page, or the file and line of the service's published source. */
  source: string;
  /** The day on which the page was read, as YYYY-MM-DD. */
  read: string;
  refuse?(call: ModelCall): Refusal | undefined;
  /** The request as the model gets it, if the service silently changes it. */
  change?(call: ModelCall): Record<string, unknown> | undefined;
  /** The frames of the answer, if the service says more than what a test has scripted. */
  answer?(call: ModelCall, frames: string[]): string[] | undefined;
}

/** The first rule that refuses decides. */
export function refusalOf(rules: readonly ModelRule[], call: ModelCall): Refusal | undefined {
  for (const rule of rules) {
    const refusal = rule.refuse?.(call);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** The request as the model gets it. */
export function changedBody(rules: readonly ModelRule[], call: ModelCall): Record<string, unknown> {
  return rules.reduce((body, rule) => rule.change?.({ ...call, body }) ?? body, call.body);
}

export function completeAnswer(rules: readonly ModelRule[], call: ModelCall, frames: string[]): string[] {
  return rules.reduce((sent, rule) => rule.answer?.(call, sent) ?? sent, frames);
}

/**
 * What people get who set another base URL than the page says. A list of models is beside what answers. A function words the
 * refusal for the path that was asked.
 */
export function pathRule(
  paths: readonly string[],
  source: string,
  body: unknown | ((pathname: string) => unknown),
): ModelRule {
  const says = `the service is at ${paths.join(" and ")}`;
  const lists = paths.map((path) => path.replace(/(?:chat\/completions|responses|messages)$/, "models"));
  const refuse = ({ path }: ModelCall) => {
    const pathname = pathnameOf(path);
    if (paths.includes(pathname) || lists.some((list) => pathname === list || pathname.startsWith(`${list}/`)))
      return undefined;
    return { status: 404, body: typeof body === "function" ? body(pathname) : body };
  };
  return { says, source, read: "2026-11-27", refuse };
}

export function pathnameOf(path: string): string {
  return path.split("?", 1)[0] ?? "";
}
