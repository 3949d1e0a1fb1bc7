/**
 * Connects to a host, which the caller must have approved. Resolves the name once. Connects only to addresses that are
 * public and not this machine's own, unless `sandbox.network.allow` covers them.
 */
import { lookup } from "node:dns/promises";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import PQueue from "p-queue";
import type { AddressRule } from "../../lib/address-rule.ts";
import { isPublicAddress, ownAddresses } from "../../lib/public-address.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { EgressOutcome } from "./connections.ts";
import { maxConcurrentLookups, maxConnectMs, maxIdleMs, maxResolveMs } from "./limits.ts";

export type Resolve = (host: string) => Promise<string[]>;

export type Dialled =
  | { type: "connected"; socket: Socket; address: string }
  | { type: "failed"; outcome: Extract<EgressOutcome, "not-public" | "unresolved" | "unreachable" | "closed"> };

/** Must not reject. The caller owns the socket, which already has an error listener. */
export type Dial = (host: string, port: number, signal: AbortSignal) => Promise<Dialled>;

export function createDial(allow: readonly AddressRule[], resolve: Resolve = resolveWithSystem): Dial {
  const resolveShared = shareLookups(resolve);

  /** Resolves to no addresses after an abort or a timeout, because the lookup itself can't be stopped. */
  function resolveInTime(host: string, signal: AbortSignal): Promise<string[]> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(maxResolveMs)]);
    return untilAborted(resolveShared(host), limit).catch(() => []);
  }

  return async (host, port, signal) => {
    const addresses = isIP(host) ? [host] : await resolveInTime(host, signal);
    if (signal.aborted) return { type: "failed", outcome: "closed" };
    if (addresses.length === 0) return { type: "failed", outcome: "unresolved" };
    const own = ownAddresses();
    const mayReach = (address: string) =>
      allow.some((rule) => rule.matches(host, address, port)) || (isPublicAddress(address) && !own.has(address));
    if (!addresses.every(mayReach)) return { type: "failed", outcome: "not-public" };
    return connectTo(addresses, host, port, signal);
  };
}

async function resolveWithSystem(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Shares lookups of the same name so that many connections can't block all threads of the process. */
function shareLookups(resolve: Resolve): Resolve {
  const lookups = new PQueue({ concurrency: maxConcurrentLookups });
  const pending = new Map<string, Promise<string[]>>();
  return (host) => {
    const existing = pending.get(host);
    if (existing !== undefined) return existing;
    const answer = lookups
      .add(async () => (await resolve(host)).filter((address) => isIP(address) !== 0))
      .catch((): string[] => [])
      .finally(() => pending.delete(host));
    pending.set(host, answer);
    return answer;
  };
}

function connectTo(addresses: readonly string[], host: string, port: number, signal: AbortSignal): Promise<Dialled> {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const pinned: LookupFunction = (_name, options, callback) => {
    const [first] = all;
    if (options.all === true) callback(null, all);
    else callback(null, first?.address ?? "", first?.family);
  };
  return new Promise((resolve) => {
    const socket = connect({ host, port, lookup: pinned, autoSelectFamily: true, allowHalfOpen: true, noDelay: true });
    const fail = (outcome: "unreachable" | "closed") => () => {
      settle();
      socket.destroy();
      resolve({ type: "failed", outcome });
    };
    const unreachable = fail("unreachable");
    const closed = fail("closed");
    const timer = setTimeout(unreachable, maxConnectMs);
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", closed);
      socket.off("close", unreachable);
    };
    socket.on("error", () => {});
    socket.once("close", unreachable);
    signal.addEventListener("abort", closed, { once: true });
    socket.once("connect", () => {
      settle();
      socket.setTimeout(maxIdleMs, () => socket.destroy());
      resolve({ type: "connected", socket, address: socket.remoteAddress ?? "" });
    });
  });
}
