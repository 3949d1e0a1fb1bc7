/**
 * Sends requests to Discord's REST API. discord.js waits for rate limits, but its retries are off: it retries 5xx
 * answers without a pause and broken sockets not at all. Thanks to a nonce, a post repeated after a lost answer appears
 * once.
 */

import {
  DefaultRestOptions,
  DiscordAPIError,
  HTTPError,
  type RateLimitData,
  RateLimitError,
  type RawFile,
  REST,
  type RouteLike,
} from "discord.js";
import { pause } from "../../../lib/backoff.ts";
import { messageOf, RemoraError } from "../../../lib/errors.ts";
import { fetchDirectly } from "../../../lib/fetch-directly.ts";
import type { Log } from "../../../lib/log.ts";
import { packForm } from "../../../lib/pack-form.ts";
import { isTransientCode } from "../../../lib/transient-errors.ts";
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { Posts } from "../../../ports/platform.ts";
import type { RateBudget } from "../../../ports/rate-budget.ts";
import { replyLost } from "../../shared/platform-error.ts";
import { fatalProblem } from "./gateway-problems.ts";
import { createInvalidRequests, type InvalidRequests } from "./invalid-requests.ts";
import {
  createLongLimits,
  followClock,
  isLikeOutage,
  isNotWorthWaiting,
  tellOthers,
  watchClock,
} from "./rate-limits.ts";
import { createOwnBudget, createSharedSlots } from "./shared-slots.ts";

/**
 * How long to retry: not at all (`once`), for a second (`brief`), for half a minute (`lasting`), or for minutes
 * (`patient`). Use `patient` if the caller does not retry later.
 */
export type RetryPolicy = "once" | "brief" | "lasting" | "patient";

export interface ApiRequest {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  route: RouteLike;
  body?: unknown;
  files?: RawFile[];
  query?: Record<string, string> | URLSearchParams;
  withoutToken?: boolean;
  retry?: RetryPolicy;
  /** Nobody waits for it, so it goes behind all others that wait for Discord's limit. */
  isBackground?: boolean;
  signal?: AbortSignal;
  /** Asked before each attempt. If true, the request is not made. */
  isLost?: (() => boolean) | undefined;
}

export interface DiscordApi extends Pick<InvalidRequests, "rightsChanged"> {
  request<T>(request: ApiRequest): Promise<T>;
  /** What is wrong with Discord's limits, for Health. */
  problem: InvalidRequests["report"];
  /** In milliseconds: ours, or Discord's if its last answer shows that ours is wrong by more than some seconds. */
  now(): number;
  close(): void;
}

export interface DiscordApiOptions {
  token: string;
  /** Excludes the version. By default, Discord's own address. */
  apiUrl?: string;
  /** Called after every answer to a request with the token: with the problem, or with undefined. */
  onToken?(problem: RemoraError | undefined): void;
  log: Log;
  /** Shared with other processes, if there are any. */
  budget?: RateBudget | undefined;
  pauses?: Partial<Record<RetryPolicy, readonly number[]>>;
}

const defaultPauses: Record<RetryPolicy, readonly number[]> = {
  once: [],
  brief: [300, 900],
  lasting: [300, 1_000, 2_000, 4_000, 8_000, 15_000],
  patient: [300, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 60_000, 60_000],
};
const timeoutMs = 15_000;

/**
 * Once Slack's library or a proxy has loaded a newer undici, discord.js sends with that one, which rejects the built-in
 * FormData. The built-in `fetch` takes it.
 */
const makeRequest: typeof DefaultRestOptions.makeRequest = async (url, init) => {
  if (!(init.body instanceof FormData)) return await DefaultRestOptions.makeRequest(url, init);
  const answer = await fetchDirectly(url, await packForm(init as object, init.body));
  // For its listeners, discord.js copies an answer's own properties, because the web server has replaced `Response`.
  const { body, headers, status, statusText, ok, bodyUsed } = answer;
  const readers = { arrayBuffer: () => answer.arrayBuffer(), json: () => answer.json(), text: () => answer.text() };
  return { body, headers, status, statusText, ok, bodyUsed, ...readers };
};

function createRest(apiUrl: string | undefined, rejectOnRateLimit: (limit: RateLimitData) => boolean): REST {
  return new REST({
    makeRequest,
    version: "10",
    retries: 0,
    timeout: timeoutMs,
    rejectOnRateLimit,
    // Kept by shared-slots.ts. The client itself would allow twice as many at the turn of a second.
    globalRequestsPerSecond: Number.POSITIVE_INFINITY,
    ...(apiUrl ? { api: apiUrl } : {}),
  });
}

export function createDiscordApi({ token, apiUrl, onToken, log, budget, pauses }: DiscordApiOptions): DiscordApi {
  const isNotWaited = (limit: RateLimitData) =>
    invalid.isBanned() || limit.retryAfter <= 0 || isNotWorthWaiting(limit, now());
  const rest = createRest(apiUrl, isNotWaited).setToken(token);
  // Interactions are not bound to the bot's limit of all routes, so they don't wait for it.
  const restOfInteractions = createRest(apiUrl, isNotWaited);
  const waits = { ...defaultPauses, ...pauses };
  const invalid = createInvalidRequests([rest, restOfInteractions], log);
  const slot = createSharedSlots(createOwnBudget(budget));
  if (budget !== undefined) tellOthers(rest, budget, () => now());
  const limits = createLongLimits();
  const timesSetBack = watchClock(rest, restOfInteractions);
  const now = followClock(rest);
  const ended = new AbortController();
  const running = new Set<AbortController>();

  async function attempt<T>(request: ApiRequest): Promise<T> {
    const { method, route, body, files, query, withoutToken, signal } = request;
    if (!withoutToken) {
      limits.check(method, route);
      invalid.check(method, route, request.isBackground === true);
    }
    const setBackBefore = timesSetBack();
    // One controller per request, because the client never removes its listener from the signal it is given.
    const own = new AbortController();
    running.add(own);
    if (ended.signal.aborted) own.abort();
    const both = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
    try {
      if (!withoutToken) {
        await slot(method, route, both, request.isBackground);
        // Others may have been refused meanwhile.
        invalid.check(method, route, request.isBackground === true);
      }
      if (request.isLost?.() === true) throw replyLost("discord");
      const sent = (withoutToken ? restOfInteractions : rest).request({
        method: method as never,
        fullRoute: route,
        auth: !withoutToken,
        ...(body === undefined ? {} : { body }),
        ...(files === undefined ? {} : { files }),
        ...(query === undefined ? {} : { query: new URLSearchParams(query) }),
        signal: both,
      });
      // The client waits for a rate limit even if the request is aborted.
      const answer = (await untilAborted(sent, both)) as T;
      if (!withoutToken) {
        onToken?.(undefined);
        invalid.succeeded(method, route);
      }
      return answer;
    } catch (thrown) {
      // A wait that was reckoned before the clock was set back is wrong.
      if (thrown instanceof RateLimitError && timesSetBack() > setBackBefore) return await attempt(request);
      limits.note(method, route, thrown);
      // Set the token again, because the client drops it after a 401 and would send nothing more.
      if (thrown instanceof DiscordAPIError && thrown.status === 401) {
        rest.setToken(token);
        if (!withoutToken) onToken?.(fatalProblem(thrown));
      }
      throw withoutToken ? thrown : invalid.failed(method, route, thrown);
    } finally {
      running.delete(own);
      // Frees `both`: with the client's listener on it, it would live as long as the caller's signal.
      own.abort();
    }
  }

  return {
    now,
    problem: invalid.report,
    rightsChanged: invalid.rightsChanged,
    async request<T>(request: ApiRequest): Promise<T> {
      const { signal = ended.signal, method, route, retry = "brief" } = request;
      for (const wait of waits[retry]) {
        try {
          return await attempt<T>(request);
        } catch (thrown) {
          const isOver = ended.signal.aborted || signal.aborted || request.isLost?.() === true;
          if (isOver || thrown instanceof RateLimitError || !isPassing(thrown)) throw thrown;
          log.debug({ method, route, error: messageOf(thrown), wait }, "a Discord request failed; retrying");
          await pause(jittered(wait), AbortSignal.any([signal, ended.signal]));
        }
      }
      return await attempt<T>(request);
    },
    close() {
      ended.abort();
      for (const each of running) each.abort();
      for (const each of [rest, restOfInteractions]) {
        each.clearHashSweeper();
        each.clearHandlerSweeper();
      }
    },
  };
}

/** For the requests of one reply. */
export function apiForReply(api: DiscordApi, { isLost }: Pick<Posts, "isLost">): DiscordApi {
  return { ...api, request: (request) => api.request({ ...request, isLost }) };
}

function jittered(ms: number): number {
  return ms * (0.8 + Math.random() * 0.4);
}

/** ENOTFOUND counts as transient: Discord's host names always exist, so the resolver must be failing. */
const isTransient = (code: unknown) => isTransientCode(code) || code === "ENOTFOUND";

export function isPassing(thrown: unknown): boolean {
  if (thrown instanceof DiscordAPIError) return thrown.status >= 500 || thrown.status === 429 || thrown.status === 408;
  if (thrown instanceof HTTPError) return true;
  if (thrown instanceof RemoraError) return thrown.isRetryable;
  if (thrown instanceof RateLimitError) return isLikeOutage(thrown);
  if (!(thrown instanceof Error)) return false;
  if (thrown.name === "AbortError" || isTransient((thrown as { code?: unknown }).code)) return true;
  // A truncated answer is not valid JSON.
  if (thrown instanceof SyntaxError) return true;
  return thrown.cause !== undefined && isPassing(thrown.cause);
}

/** Discord accepts nothing at the moment, also because the token is refused: an administrator may put that right. */
export function isAway(thrown: unknown): boolean {
  if (thrown instanceof DiscordAPIError && thrown.status === 401) return true;
  return !(thrown instanceof RemoraError) && isPassing(thrown);
}

export function isLimited(thrown: unknown): thrown is RateLimitError {
  return thrown instanceof RateLimitError && !isLikeOutage(thrown);
}

export function codeOfRefusal(thrown: unknown): number | undefined {
  return thrown instanceof DiscordAPIError && typeof thrown.code === "number" ? thrown.code : undefined;
}

export const refusals = {
  unknownChannel: 10003,
  unknownGuild: 10004,
  unknownMember: 10007,
  unknownMessage: 10008,
  unknownUser: 10013,
  unknownWebhook: 10015,
  unknownInteraction: 10062,
  alreadyAcknowledged: 40060,
  missingAccess: 50001,
  cannotMessageUser: 50007,
  notATextChannel: 50008,
  missingPermissions: 50013,
  invalidWebhookToken: 50027,
  wrongChannelType: 50024,
  emptyMessage: 50006,
  invalidForm: 50035,
  tooLarge: 40005,
  archivedThread: 50083,
  noMutualGuilds: 50278,
  noReplyWithoutHistory: 160002,
  threadExists: 160004,
  lockedThread: 160005,
  tooManyThreads: 160006,
  blockedByAutoMod: 200000,
  blockedForLink: 240000,
} as const;

export function isRefusal(thrown: unknown, ...names: (keyof typeof refusals)[]): boolean {
  const code = codeOfRefusal(thrown);
  return code !== undefined && names.some((name) => refusals[name] === code);
}

/** Discord answered, and refuses this for good, whatever its reason. */
export function isRefused(thrown: unknown): boolean {
  return thrown instanceof DiscordAPIError && !isAway(thrown);
}

/** It refuses what the message has, so it may refuse it anywhere, or takes it plainer here. */
export function isAboutMessage(thrown: unknown): boolean {
  return isRefusal(thrown, "blockedByAutoMod", "blockedForLink", "invalidForm", "tooLarge", "emptyMessage");
}

const whyNot: Partial<Record<keyof typeof refusals, string>> = {
  archivedThread: "the thread is closed",
  blockedByAutoMod: "AutoMod of that server blocks it",
  blockedForLink: "that server blocks a link in it",
  cannotMessageUser: "direct messages from me are turned off",
  lockedThread: "the thread is locked",
  missingAccess: "I can't see that channel",
  missingPermissions: "I may not write there",
  noMutualGuilds: "we are in no server together",
  notATextChannel: "nobody can write in that kind of channel",
  unknownChannel: "it is gone",
  unknownGuild: "it is gone",
  wrongChannelType: "nobody can write in that kind of channel",
};

/** Why nothing can be written in a place, as people read it: the end of "I can't write in #x: ". */
export function whyNotThere(thrown: unknown): string {
  const code = codeOfRefusal(thrown);
  const [name] = Object.entries(refusals).find(([, each]) => each === code) ?? [];
  return whyNot[name as keyof typeof refusals] ?? "Discord doesn't let me";
}

/** What is gone, or not for the bot to see. */
export const hidden = ["unknownMessage", "unknownChannel", "missingAccess", "missingPermissions"] as const;

/** Undefined if Discord refuses the work for one of these reasons. */
export async function unlessRefused<T>(
  work: Promise<T>,
  ...names: readonly (keyof typeof refusals)[]
): Promise<T | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (isRefusal(thrown, ...names)) return undefined;
    throw thrown;
  }
}

export function discordError(code: string, message: string, cause?: unknown): RemoraError {
  return new RemoraError({
    code,
    place: "platform discord",
    message: cause === undefined ? message : `${message}: ${messageOf(cause)}`,
    isRetryable: cause !== undefined && isPassing(cause),
    cause,
  });
}
