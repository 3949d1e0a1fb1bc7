/**
 * Knows whether a service can be reached: at once if this machine has no network at all, else by a request to its host.
 * Requests go through `fetch`, so the proxies apply. Services of this machine and its own network are never offline.
 */
import { isIP } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { isPublicAddress } from "../lib/public-address.ts";
import { isNetworkFailure } from "./classify-failure.ts";

export interface Network {
  /** True if requests to the address stay on this machine or in its own network. */
  isLocal(address: string): boolean;
  /** True if this machine has no network that could lead to the address. Calls `onChange` when that has changed. */
  isOffline(address: string): boolean;
  /** True if the host, or the proxy in front of it, lets a request through. Any answer counts. Never rejects. */
  reaches(address: string, maxMs: number): Promise<boolean>;
  /** Calls the listener once, as soon as the host can be reached. */
  whenReachable(address: string, listener: () => void): void;
  close(): void;
}

export interface NetworkOptions {
  /** Where a connection to the address goes first: to a proxy, or to the address itself. */
  firstHop(address: URL): URL;
  onChange?(isOffline: boolean): void;
  interfaces?: () => NodeJS.Dict<NetworkInterfaceInfo[]>;
  fetch?: typeof globalThis.fetch;
  everyMs?: number;
}

/** Together at most 5 s, so that the first choice is back in time even on a slow machine. */
const everyMs = 3_000;
const maxProbeMs = 2_000;
const localNames = /^(?:localhost|[^.]+|.*\.(?:localhost|local|lan|internal|home\.arpa))$/i;

export function createNetwork(options: NetworkOptions): Network {
  const { firstHop, interfaces = networkInterfaces, fetch = globalThis.fetch } = options;
  const waiting = new Map<string, Set<() => void>>();
  const timers = new Map<string, NodeJS.Timeout>();
  let isClosed = false;
  let wasOffline = false;

  function hasNetwork(): boolean {
    const all = Object.values(interfaces()).flatMap((addresses) => addresses ?? []);
    return all.some(({ internal, address }) => !internal && !/^(?:fe80:|169\.254\.)/i.test(address));
  }

  async function reaches(address: string, maxMs: number): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(maxMs);
      const response = await fetch(address, { method: "HEAD", redirect: "manual", signal });
      await response.body?.cancel();
      return true;
    } catch (thrown) {
      return !isNetworkFailure(thrown);
    }
  }

  function probeLater(address: string): void {
    const timer = setTimeout(() => void probe(address), options.everyMs ?? everyMs).unref();
    timers.set(address, timer);
  }

  async function probe(address: string): Promise<void> {
    const isBack = await reaches(address, maxProbeMs);
    if (isClosed) return;
    if (!isBack) return probeLater(address);
    const listeners = waiting.get(address) ?? [];
    waiting.delete(address);
    timers.delete(address);
    for (const listener of listeners) listener();
  }

  return {
    isLocal(address) {
      const url = URL.parse(address);
      return url !== null && firstHop(url).host === url.host && isLocalHost(url);
    },
    isOffline(address) {
      const url = URL.parse(address);
      if (url === null || isLocalHost(firstHop(url))) return false;
      const isOffline = !hasNetwork();
      if (isOffline !== wasOffline) options.onChange?.(isOffline);
      wasOffline = isOffline;
      return isOffline;
    },
    reaches,
    whenReachable(address, listener) {
      const listeners = waiting.get(address) ?? new Set();
      waiting.set(address, listeners.add(listener));
      if (!isClosed && !timers.has(address)) probeLater(address);
    },
    close() {
      isClosed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      waiting.clear();
    },
  };
}

/** True for an address of this machine or of a private network. */
export function isLocalAddress(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && isLocalHost(url);
}

/** Names without a dot and of private networks count, such as Docker's names of other containers. */
function isLocalHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return isIP(host) === 0 ? localNames.test(host) : !isPublicAddress(host);
}
