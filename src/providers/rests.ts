/**
 * Decides which models rest, and why: after a failure, while their key is refused, while their account may not spend, or
 * while they can't be reached.
 */
import { leftOf } from "../lib/elapsed.ts";
import type { RemoraError } from "../lib/errors.ts";
import { createLruMap } from "../lib/lru-map.ts";
import type { Provider } from "../ports/provider.ts";
import { createCircuitBreaker, maxBreakerMs, maxModels } from "./circuit-breaker.ts";
import type { Network } from "./network.ts";
import type { RefusedKeys } from "./refused-keys.ts";

export interface RankedProvider {
  provider: Provider;
  model: string;
}

export interface Rests {
  begin(candidate: RankedProvider): void;
  failed(candidate: RankedProvider, error: RemoraError): void;
  answered(candidate: RankedProvider): void;
  isRefused(candidate: RankedProvider): boolean;
  isResting(candidate: RankedProvider): boolean;
  /** The code of the failure that the model rests after. Undefined if it does not rest. */
  reasonOf(candidate: RankedProvider): string | undefined;
  /** Of models that all rest, the one whose rest ends first. */
  dueFirst(candidates: RankedProvider[]): RankedProvider;
}

/** Nothing but a connection to the service ends these. */
export function isNetworkCode(code: string | undefined): boolean {
  return /^(?:provider\.(?:offline|unreachable|connect-timeout)|proxy\..*)$/.test(code ?? "");
}

/** People must change a setting or the account, so the next minutes change nothing. */
const lastingCodes: ReadonlySet<string> = new Set([
  ...["provider.unknown-model", "provider.not-an-api", "provider.bad-url", "provider.wrong-api"],
  "provider.tools-off",
  "provider.model-ended",
  "provider.bad-certificate",
]);
const moneyCodes: ReadonlySet<string> = new Set(["provider.no-credit", "provider.spend-limit"]);
const shortestMoneyRestMs = 3_600_000;
/** Also if the service names a later time, because somebody may raise the limit before. */
const longestMoneyRestMs = 6 * 3_600_000;
/** For a rate limit that does not pass and names no time: it may be one on spending, in words that nobody knows. */
const longestLimitRestMs = 3_600_000;

/** A service that is busy or broken for longer is asked now and then, because one odd answer can name any time. */
const longestBusyRestMs = 15 * 60_000;

interface MoneyRest {
  /** In a row, one per rest. */
  failures: number;
  since: number;
  restMs: number;
  digest: string | undefined;
}

export interface RestsOptions {
  refusedKeys: RefusedKeys;
  network: Network | undefined;
  now: () => number;
}

export function createRests({ refusedKeys, network, now }: RestsOptions): Rests {
  const breaker = createCircuitBreaker(now);
  const moneyRests = createLruMap<MoneyRest>(maxModels);

  /** Several requests may fail at the same time, and lengthen the rest only once. */
  function restForMoney({ provider, model }: RankedProvider, { code, retryAfterMs }: RemoraError): void {
    const known = moneyRests.get(model);
    const isSameRest = known !== undefined && leftOf(known.restMs, known.since, now()) > 0;
    const failures = (known?.failures ?? 0) + (isSameRest ? 0 : 1);
    const wantedMs = retryAfterMs ?? shortestMoneyRestMs * 2 ** (failures - 1);
    const restMs = Math.min(wantedMs, longestMoneyRestMs);
    if (!isSameRest) moneyRests.set(model, { failures, since: now(), restMs, digest: provider.keyDigest?.() });
    breaker.failed(model, code, isSameRest ? leftOf(known.restMs, known.since, now()) : restMs);
  }

  /** Another key may belong to another account. */
  function forgetOtherKey({ provider, model }: RankedProvider): void {
    const known = moneyRests.get(model);
    if (known === undefined || known.digest === provider.keyDigest?.()) return;
    moneyRests.delete(model);
    breaker.clear(model);
  }

  function isOffline({ provider }: RankedProvider): boolean {
    return provider.address !== undefined && network?.isOffline(provider.address) === true;
  }

  function isResting(candidate: RankedProvider): boolean {
    forgetOtherKey(candidate);
    return breaker.leftMs(candidate.model) > 0 || isOffline(candidate);
  }

  function refusalOf({ provider, model }: RankedProvider): string | undefined {
    return refusedKeys.reasonOf(provider, model)?.code;
  }

  return {
    begin: ({ model }) => breaker.begin(model),
    failed({ provider, model }, failure) {
      const { code, isRetryable, retryAfterMs } = failure;
      const isAboutKey = code === "provider.wrong-key" || code === "provider.forbidden";
      // With a time, only words say so, and a person may have written them.
      if (isAboutKey && retryAfterMs === undefined)
        refusedKeys.refuse(code === "provider.wrong-key" ? provider.name : model, provider, failure);
      const { address } = provider;
      if (isNetworkCode(code) && network !== undefined && address !== undefined) {
        breaker.failed(model, code, maxBreakerMs);
        network.whenReachable(address, () => {
          if (isNetworkCode(breaker.codeOf(model))) breaker.clear(model);
        });
      } else if (moneyCodes.has(code)) restForMoney({ provider, model }, failure);
      else if (lastingCodes.has(code)) breaker.failed(model, code, maxBreakerMs);
      else if (isAboutKey && retryAfterMs !== undefined) breaker.failed(model, code, retryAfterMs);
      else if (code === "provider.rate-limited" && retryAfterMs === undefined)
        breaker.failed(model, code, 0, longestLimitRestMs);
      else if (isRetryable) {
        const longestMs = code === "provider.rate-limited" ? Number.POSITIVE_INFINITY : longestBusyRestMs;
        breaker.failed(model, code, Math.min(retryAfterMs ?? 0, longestMs));
      } else breaker.clear(model);
    },
    answered({ provider, model }) {
      breaker.clear(model);
      moneyRests.delete(model);
      refusedKeys.accept(provider, model);
    },
    isRefused: (candidate) => refusalOf(candidate) !== undefined,
    isResting,
    reasonOf(candidate) {
      const refusal = refusalOf(candidate);
      if (refusal !== undefined) return refusal;
      if (isOffline(candidate)) return "provider.offline";
      return isResting(candidate) ? breaker.codeOf(candidate.model) : undefined;
    },
    dueFirst: (candidates) =>
      candidates.reduce((best, other) => (breaker.leftMs(other.model) < breaker.leftMs(best.model) ? other : best)),
  };
}
