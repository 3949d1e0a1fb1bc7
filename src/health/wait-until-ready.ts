/** Waits for a process that was just started, and believes only what that very process says. */

import { setTimeout as sleep } from "node:timers/promises";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import { isAlive, readRuns } from "./last-run.ts";

const pollMs = 250;
const maxAnswerMs = 5_000;

export interface ReadyOptions {
  data: string;
  /** Milliseconds since 1970. Processes that started earlier don't count. */
  since: number;
  maxMs: number;
  /** Lines of `/readyz` that don't matter. */
  isKnown?(line: string): boolean;
}

/** Looks at least once. Resolves to undefined when the process is ready, or to what it said last. */
export async function waitUntilReady(options: ReadyOptions): Promise<string[] | undefined> {
  const { data, since, maxMs, isKnown = () => false } = options;
  const until = Date.now() + maxMs;
  let last = ["it did not start"];
  for (;;) {
    const run = (await readRuns(data)).find((one) => one.startedAt >= since && isAlive(one));
    const answer = run && (await readyz(run.url));
    if (answer?.isReady === true) return undefined;
    if (answer !== undefined) last = answer.lines.filter((line) => !isKnown(line));
    if (last.length === 0) return undefined;
    if (Date.now() >= until) return last;
    await sleep(pollMs);
  }
}

/** The lines of `/readyz`. */
export async function readyz(url: string): Promise<{ isReady: boolean; lines: string[] }> {
  try {
    const response = await fetchDirectly(new URL("/readyz", url), { signal: AbortSignal.timeout(maxAnswerMs) });
    return { isReady: response.ok, lines: (await response.text()).trim().split("\n") };
  } catch {
    return { isReady: false, lines: [`it does not answer at ${url}`] };
  }
}
