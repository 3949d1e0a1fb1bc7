/**
 * Calls Slack's Web API. If Slack asked to wait for a method, waits, or rejects if that is longer than the caller
 * allows. Retries transient failures (429, network, 5xx) for as long as the caller allows. Errors say what to do
 * (api-problems.ts). Refusals that concern the entire app (tokens, scopes) are also reported to `onProblem`.
 */

import { webApi } from "@slack/bolt";
import { z } from "zod";
import { pause } from "../../../lib/backoff.ts";
import { leftOf } from "../../../lib/elapsed.ts";
import type { RemoraError } from "../../../lib/errors.ts";
import { fetchDirectly } from "../../../lib/fetch-directly.ts";
import type { Log } from "../../../lib/log.ts";
import type { Posts } from "../../../ports/platform.ts";
import type { RateBudget } from "../../../ports/rate-budget.ts";
import { replyLost } from "../../shared/platform-error.ts";
import { sharedRates } from "../limits.ts";
import { isLimit, isSlackError, isTokenProblem, isUnknownRefusal, problemOf, waitAsked } from "./api-problems.ts";
import { createSdkLogger } from "./sdk-logger.ts";

export interface SlackApiOptions {
  token: string;
  apiUrl?: string;
  onProblem(problem: RemoraError): void;
  /** Slack takes no messages for a while, or refused one for a reason that nobody knows. */
  onRefused?(problem: RemoraError): void;
  onTokenTaken?(): void;
  log: Log;
  signal: AbortSignal;
  /** Shared with other processes, if there are any. */
  budget?: RateBudget;
}

export interface CallOptions {
  /** Set this if repeating the call does harm. Retries only if Slack certainly did not execute the call. */
  isOnce?: boolean;
  /** How long to retry; 0 means never. By default a minute, or as long as Slack asks to wait, up to a limit. */
  maxRetryMs?: number;
  /** Asked before each attempt. If true, the call is not made. */
  isLost?: (() => boolean) | undefined;
}

export interface SlackApi {
  call<Result>(
    method: string,
    args: Record<string, unknown>,
    schema: z.ZodType<Result>,
    options?: CallOptions,
  ): Promise<Result>;
  /** Slack's clock minus ours, from its last answer; undefined before the first answer. */
  clockSkewMs(): number | undefined;
}

/** For calls whose answer says nothing more than that they succeeded. */
export const anyAnswer = z.unknown();

const defaultMaxRetryMs = 60_000;
/** Slack counts calls per minute, so it may ask to wait for one or several minutes. */
const maxAskedWaitMs = 10 * 60_000;
const maxCallMs = 15_000;
const minWaitMs = 400;
const maxWaitMs = 15_000;

export function createSlackApi(options: SlackApiOptions): SlackApi {
  const { log, signal, budget } = options;
  /** How long Slack asked to wait, and when. */
  const asked = new Map<string, { ms: number; at: number }>();
  let skewMs: number | undefined;

  const client = new webApi.WebClient(options.token, {
    ...(options.apiUrl === undefined ? {} : { slackApiUrl: options.apiUrl }),
    logger: createSdkLogger(log),
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    async fetch(url, init) {
      const limits = [signal, AbortSignal.timeout(maxCallMs)];
      const response = await fetchDirectly(url, { ...init, signal: AbortSignal.any(limits) });
      const date = Date.parse(response.headers.get("date") ?? "");
      if (!Number.isNaN(date)) skewMs = date - Date.now();
      return response;
    },
  });

  async function once(method: string, args: Record<string, unknown>): Promise<unknown> {
    try {
      const answer = await client.apiCall(method, wellFormed(args));
      options.onTokenTaken?.();
      return answer;
    } catch (thrown) {
      const problem = problemOf(method, thrown);
      if (isTokenProblem(problem) || isSlackError(problem, "missing_scope")) options.onProblem(problem);
      // Slack asks nearly everybody to wait at times; only what it does not say how long to wait for is worth telling.
      const isLimited = isLimit(problem) && problem.retryAfterMs === undefined;
      if (isWriting(method) && (isLimited || isUnknownRefusal(problem))) options.onRefused?.(problem);
      if (problem.retryAfterMs !== undefined) {
        asked.set(queueOf(method, args), { ms: problem.retryAfterMs, at: Date.now() });
        budget?.hold(queueOf(method, args), problem.retryAfterMs);
      }
      throw problem;
    }
  }

  /** Rejects if it would wait beyond `end`. */
  async function slotFor(method: string, args: Record<string, unknown>, end: number): Promise<void> {
    for (;;) {
      const wait = (await budget?.take(queueOf(method, args), sharedRates[method])) ?? 0;
      if (wait === 0) return;
      if (signal.aborted || Date.now() + wait > end) throw waitAsked(method, wait);
      await pause(wait, signal);
    }
  }

  async function patiently(method: string, args: Record<string, unknown>, options: CallOptions): Promise<unknown> {
    const { isOnce = false, maxRetryMs } = options;
    const end = Date.now() + (maxRetryMs ?? defaultMaxRetryMs);
    const askedEnd = Date.now() + (maxRetryMs ?? maxAskedWaitMs);
    for (let waitMs = minWaitMs; ; waitMs = Math.min(waitMs * 2, maxWaitMs)) {
      const wait = asked.get(queueOf(method, args));
      const askedToWait = wait === undefined ? 0 : leftOf(wait.ms, wait.at);
      if (askedToWait > 0) {
        if (Date.now() + askedToWait > askedEnd) throw waitAsked(method, askedToWait);
        await pause(askedToWait, signal);
      }
      await slotFor(method, args, askedEnd);
      if (options.isLost?.() === true) throw replyLost("slack");
      try {
        const answer = await once(method, args);
        asked.delete(queueOf(method, args));
        return answer;
      } catch (thrown) {
        const problem = problemOf(method, thrown);
        const isUndone = isLimit(problem);
        const wait = problem.retryAfterMs ?? waitMs;
        const isOver = signal.aborted || Date.now() + wait > (problem.retryAfterMs === undefined ? end : askedEnd);
        if (!problem.isRetryable || isOver || (isOnce && !isUndone)) throw problem;
        log.info({ method, waitMs: wait, problem: problem.code }, "retrying a Slack call");
        await pause(wait, signal);
      }
    }
  }

  return {
    async call(method, args, schema, callOptions = {}) {
      return schema.parse(await patiently(method, args, callOptions));
    },
    clockSkewMs: () => skewMs,
  };
}

/** For the calls of one reply. */
export function apiForReply(api: SlackApi, { isLost }: Pick<Posts, "isLost">): SlackApi {
  return { ...api, call: (method, args, schema, options) => api.call(method, args, schema, { ...options, isLost }) };
}

/** Repairs half surrogate pairs, which a model or a cut can produce and a request can't contain. */
function wellFormed(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, wellFormedValue(value)]));
}

function wellFormedValue(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormedValue);
  return typeof value === "object" && value !== null ? wellFormed({ ...value }) : value;
}

function isWriting(method: string): boolean {
  return method.startsWith("chat.") || method === "files.completeUploadExternal";
}

/** Slack counts calls per method, but posts per channel. */
function queueOf(method: string, args: Record<string, unknown>): string {
  return method === "chat.postMessage" ? `${method} ${String(args.channel)}` : method;
}
