/**
 * Keeps this address far from a ban by Cloudflare, which comes after too many refused requests. What is refused again and
 * again rests, whoever asks for it. When there are many refusals in all, first what nobody waits for rests, then everything,
 * until old ones no longer count. A ban that came in spite of that is waited for. Those who ask see an outage.
 */
import { DiscordAPIError, HTTPError, RateLimitError, type REST, RESTEvents } from "discord.js";
import type { Log } from "../../../lib/log.ts";
import { formatNumber } from "../../../lib/text/format-number.ts";
import { invalidWindowMs, maxInvalidRequests } from "../limits.ts";
import { bucketOf } from "./shared-slots.ts";

export interface InvalidRequests {
  /** Throws if the request must not be sent now: the last refusal of its kind, or an outage. */
  check(method: string, route: string, isBackground: boolean): void;
  succeeded(method: string, route: string): void;
  /** Returns what the caller is to throw. */
  failed(method: string, route: string, thrown: unknown): unknown;
  isBanned(): boolean;
  /** The bot may have other rights from now on, so what was refused can be tried. */
  rightsChanged(): void;
  /** For Health. Undefined if there are few refusals. */
  report(): string | undefined;
}

const calmAfter = 10;
const restMs = 60_000;
/** A refused token is refused everywhere, and may be put right soon. */
const tokenRestMs = 5_000;
const tellFrom = maxInvalidRequests / 10;
const backgroundRestsFrom = maxInvalidRequests / 4;
const allRestFrom = maxInvalidRequests / 2;
const stepMs = 10_000;
const maxKinds = 1_000;
const usualBanMs = 60_000;
const blockedFrom = 3;

interface Refused {
  count: number;
  at: number;
  thrown: unknown;
}

export function createInvalidRequests(rests: readonly REST[], log: Log): InvalidRequests {
  /** Refusals in steps of ten seconds, oldest first. */
  let steps: { at: number; count: number }[] = [];
  /** By kind of request and place. */
  const refused = new Map<string, Refused>();
  /** Answers of Cloudflare since the last one of Discord. */
  let pages = 0;
  let bannedUntil = 0;
  let isTold = false;

  for (const rest of rests)
    rest.on(RESTEvents.Response, (_request, { status, headers }) => {
      const isPage = status >= 400 && status < 500 && !headers.get("content-type")?.startsWith("application/json");
      pages = isPage ? pages + 1 : 0;
      // One page alone may be about what that request contains.
      if (isPage && (status === 429 || pages >= blockedFrom)) ban(Number(headers.get("retry-after")) * 1_000);
      const isInvalid = status === 401 || status === 403 || status === 429;
      if (isInvalid && headers.get("x-ratelimit-scope") !== "shared") note();
    });

  function note(): void {
    const now = performance.now();
    const last = steps.at(-1);
    if (last !== undefined && now - last.at < stepMs) last.count += 1;
    else steps.push({ at: now, count: 1 });
    const isMany = total() >= tellFrom;
    if (isMany && !isTold) log.warn({ refused: total() }, manyText());
    isTold = isMany;
  }

  function total(): number {
    const oldest = performance.now() - invalidWindowMs - stepMs;
    steps = steps.filter(({ at }) => at > oldest);
    return steps.reduce((sum, { count }) => sum + count, 0);
  }

  function ban(ms: number): void {
    if (!isBanned()) log.error({ milliseconds: ms }, "Discord blocks this machine's address for a while");
    bannedUntil = Math.max(bannedUntil, performance.now() + (ms > 0 ? ms : usualBanMs));
  }

  const isBanned = () => performance.now() < bannedUntil;

  function manyText(): string {
    const most = [...refused].toSorted(([, one], [, other]) => other.count - one.count)[0]?.[0];
    const what = most === undefined ? "" : `, most often ${most}`;
    return `Discord refused ${formatNumber(total())} requests within ten minutes${what}`;
  }

  function report(): string | undefined {
    if (isBanned())
      return `Discord blocks this machine's address for another ${Math.ceil((bannedUntil - performance.now()) / 1_000)} s, because too many requests were refused; I wait`;
    const count = total();
    if (count < tellFrom) return undefined;
    if (count < allRestFrom) return `${manyText()}; it blocks an address from ${formatNumber(maxInvalidRequests)} on`;
    return `${manyText()}; I pause before it blocks this machine's address`;
  }

  function outage(method: string, route: string): HTTPError {
    return new HTTPError(503, report() ?? "Discord's protection refused a request", method, route, {
      body: undefined,
      files: undefined,
    });
  }

  return {
    check(method, route, isBackground) {
      const count = steps.length === 0 ? 0 : total();
      const isMany = count >= (isBackground ? backgroundRestsFrom : allRestFrom);
      if (isMany || isBanned()) throw outage(method, route);
      for (const [key, ms] of [
        [tokenKey, tokenRestMs],
        [bucketOf(method, route), restMs],
      ] as const) {
        const known = refused.get(key);
        if (known === undefined || known.count < calmAfter || performance.now() - known.at >= ms) continue;
        throw known.thrown;
      }
    },
    succeeded(method, route) {
      if (refused.size === 0) return;
      refused.delete(tokenKey);
      refused.delete(bucketOf(method, route));
    },
    failed(method, route, thrown) {
      // discord.js would ask again at once, and for ever.
      const isWithoutTime = thrown instanceof RateLimitError && thrown.retryAfter <= 0;
      if (isWithoutTime) return outage(method, route);
      if (!(thrown instanceof DiscordAPIError)) return isBanned() ? outage(method, route) : thrown;
      if (isBanned()) return outage(method, route);
      if (thrown.status !== 401 && thrown.status !== 403) return thrown;
      if (typeof thrown.code !== "number") return outage(method, route);
      const key = thrown.status === 401 ? tokenKey : bucketOf(method, route);
      const count = (refused.get(key)?.count ?? 0) + 1;
      refused.delete(key);
      refused.set(key, { count, at: performance.now(), thrown });
      const [oldest] = refused.keys();
      if (refused.size > maxKinds && oldest !== undefined) refused.delete(oldest);
      return thrown;
    },
    isBanned,
    rightsChanged: () => refused.clear(),
    report,
  };
}

const tokenKey = "the token";
