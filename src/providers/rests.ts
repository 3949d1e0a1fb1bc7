/** Decides which models rest, and why: after a failure, while their key is refused, or while they can't be reached. */
import type { RemoraError } from "../lib/errors.ts";
import type { Provider } from "../ports/provider.ts";
import { createCircuitBreaker, maxBreakerMs } from "./circuit-breaker.ts";
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
  ...["provider.no-credit", "provider.unknown-model", "provider.not-an-api", "provider.bad-url"],
  ...["provider.bad-certificate", "provider.wrong-api", "provider.tools-off"],
]);

export interface RestsOptions {
  refusedKeys: RefusedKeys;
  network: Network | undefined;
  now: () => number;
}

export function createRests({ refusedKeys, network, now }: RestsOptions): Rests {
  const breaker = createCircuitBreaker(now);

  function isOffline({ provider }: RankedProvider): boolean {
    return provider.address !== undefined && network?.isOffline(provider.address) === true;
  }

  function isResting(candidate: RankedProvider): boolean {
    return breaker.leftMs(candidate.model) > 0 || isOffline(candidate);
  }

  function refusalOf({ provider, model }: RankedProvider): string | undefined {
    return refusedKeys.reasonOf(provider, model)?.code;
  }

  return {
    begin: ({ model }) => breaker.begin(model),
    failed({ provider, model }, failure) {
      const { code, isRetryable, retryAfterMs } = failure;
      if (code === "provider.wrong-key") refusedKeys.refuse(provider.name, provider, failure);
      if (code === "provider.forbidden") refusedKeys.refuse(model, provider, failure);
      const { address } = provider;
      if (isNetworkCode(code) && network !== undefined && address !== undefined) {
        breaker.failed(model, code, maxBreakerMs);
        network.whenReachable(address, () => {
          if (isNetworkCode(breaker.codeOf(model))) breaker.clear(model);
        });
      } else if (lastingCodes.has(code)) breaker.failed(model, code, maxBreakerMs);
      else if (isRetryable) breaker.failed(model, code, retryAfterMs);
      else breaker.clear(model);
    },
    answered({ provider, model }) {
      breaker.clear(model);
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
