/**
 * While a connection takes long, finds out which other services can't be reached either. So a network that swallows
 * packets costs one timeout, not one per service.
 */
import { RemoraError } from "../lib/errors.ts";
import type { ModelRequest } from "../ports/provider.ts";
import type { Network } from "./network.ts";
import type { RankedProvider, Rests } from "./rests.ts";

export interface Scout {
  /** For the request that is being made. Empty if no other model could answer. */
  connection: Pick<ModelRequest, "connectMs" | "onSent">;
  /** Lets the services rest that could not be reached. Call it if the request got no connection. */
  restUnreachable(): Promise<void>;
  stop(): void;
}

export interface ScoutOptions {
  network: Network | undefined;
  rests: Rests;
  /** Milliseconds for the connection and the search together. */
  maxMs: number;
}

/** Connections are mostly faster. */
const startShare = 0.3;

export function createScout(
  { provider: { address } }: RankedProvider,
  others: readonly RankedProvider[],
  { network, rests, maxMs }: ScoutOptions,
): Scout {
  const none: Scout = { connection: {}, restUnreachable: async () => {}, stop() {} };
  if (network === undefined || address === undefined || network.isLocal(address) || others.length === 0) return none;
  const remote = others.filter(({ provider }) => provider.address !== undefined && !network.isLocal(provider.address));
  const startMs = maxMs * startShare;
  let search: Promise<RankedProvider[]> | undefined;
  const timer = setTimeout(() => {
    search = unreachable(remote, network, maxMs - startMs);
  }, startMs);
  const stop = () => clearTimeout(timer);
  return {
    connection: { connectMs: maxMs, onSent: stop },
    async restUnreachable() {
      for (const candidate of (await search) ?? []) rests.failed(candidate, unreachableError(candidate));
    },
    stop,
  };
}

async function unreachable(
  candidates: readonly RankedProvider[],
  network: Network,
  maxMs: number,
): Promise<RankedProvider[]> {
  const reached = await Promise.all(candidates.map(({ provider }) => network.reaches(provider.address ?? "", maxMs)));
  return candidates.filter((_candidate, index) => reached[index] === false);
}

function unreachableError({ provider, model }: RankedProvider): RemoraError {
  return new RemoraError({
    code: "provider.unreachable",
    place: `provider ${provider.name}`,
    message: `no connection to ${model}, like to the model before it`,
    isRetryable: true,
  });
}
