/** Helpers of the checks: options, problems, pasted tokens, and requests. */
import { remoraErrorIn } from "../lib/errors.ts";
import { withoutPlace } from "../lib/text/without-place.ts";
import type { CheckProblem, CheckResult } from "../ports/check.ts";

export interface CheckOptions {
  /** By default the global one. */
  fetch?: typeof globalThis.fetch | undefined;
  /** By default the check ends after 15 seconds. */
  signal?: AbortSignal | undefined;
}

export const defaultCheckTimeoutMs = 15_000;

export function problem(code: string, problem: string, fix: string): CheckProblem {
  return { ok: false, code, problem, fix };
}

/** Fetches JSON. An address that can't be reached, or an answer that is not JSON, becomes a problem. */
export async function fetchJson(
  service: { name: string; setting: string; code: string },
  url: string,
  init: RequestInit,
  { fetch = globalThis.fetch, signal = AbortSignal.timeout(defaultCheckTimeoutMs) }: CheckOptions,
): Promise<CheckResult<{ response: Response; body: Record<string, unknown> }>> {
  const advice = `Check the network and any proxy, and ${service.setting} if you set it.`;
  let response: Response;
  try {
    response = await fetch(url, { ...init, signal });
  } catch (thrown) {
    const host = URL.parse(url)?.host ?? service.name;
    const known = remoraErrorIn(thrown);
    if (known !== undefined)
      return problem(known.code, `${service.name} can't be reached at ${host}.`, sentence(withoutPlace(known.message)));
    return problem(
      `${service.code}.unreachable`,
      `${service.name} can't be reached at ${host} (${reasonOf(thrown)}).`,
      advice,
    );
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (typeof body === "object" && body !== null && !Array.isArray(body))
    return { ok: true, response, body: body as Record<string, unknown> };
  return problem(
    `${service.code}.bad-answer`,
    `${service.name} gave an answer that is not valid (HTTP ${response.status}).`,
    response.status >= 500 ? `${service.name} may have an outage. Try again later.` : advice,
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.name === "TimeoutError") return "no answer in time";
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string")
    return cause.code;
  return cause instanceof Error ? cause.message : String(cause);
}
