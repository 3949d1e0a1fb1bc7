/**
 * Decides whether an address may be fetched, and resolves it. Every IP address of the host must be public and not
 * belong to this machine. Connect only to the addresses checked here, because a second look-up may return others.
 */
import { codeOf, RemoraError } from "../../src/plugin-sdk/errors.ts";
import { type AddressRule, isPublicAddress, ownAddresses } from "../../src/plugin-sdk/network-addresses.ts";
import { untilAborted } from "../../src/plugin-sdk/until-aborted.ts";
import type { WebSettings } from "./settings.ts";

/** Rejects with the error codes of `dns.lookup`. */
export type Resolve = (host: string) => Promise<string[]>;

export interface Target {
  url: URL;
  /** Without brackets and without a final dot. */
  host: string;
  port: number;
  addresses: string[];
}

export type Limits = Pick<WebSettings, "allow" | "deny" | "ports">;

const maxAddressLength = 4_000;

export function readUrl(written: string): URL {
  const text = written.trim();
  if (text.length > maxAddressLength) throw refusal(shown(text), `is longer than ${maxAddressLength} characters`);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(text) && !/^[^/?#]*\.[^/?#]*:\d/.test(text);
  const url = URL.parse(hasScheme ? text : `https://${text.replace(/^\/+/, "")}`);
  if (url === null) throw refusal(shown(text), "is not a valid address: write it as https://host/path");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw refusal(shown(text), `starts with ${url.protocol}, but only http and https are supported`);
  }
  if (url.username !== "" || url.password !== "") {
    throw refusal(url.origin, "contains a user name or password: remove it");
  }
  url.hostname = url.hostname.replace(/\.$/, "");
  url.hash = "";
  return url;
}

export async function findTarget(url: URL, limits: Limits, resolve: Resolve, signal: AbortSignal): Promise<Target> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const addresses = await addressesOf(url, host, resolve, signal);
  const own = ownAddresses();
  for (const address of addresses) {
    const isCovered = ({ matches }: AddressRule) => matches(host, address, port);
    if (limits.deny.some(isCovered)) throw refusal(url.origin, "may not be fetched: the operator has excluded it");
    const covering = limits.allow.filter(isCovered);
    if (!limits.ports.includes(port) && !covering.some(({ hasPort }) => hasPort)) {
      throw refusal(url.origin, `uses port ${port}; only ${limits.ports.join(", ")} are permitted`);
    }
    if (covering.length === 0 && (!isPublicAddress(address) || own.has(address))) {
      throw refusal(url.origin, "is not a public address, and private networks and this machine are never fetched");
    }
  }
  return { url, host, port, addresses };
}

export function refusal(place: string, message: string): RemoraError {
  return new RemoraError({ code: "web.refused", place, message });
}

async function addressesOf(url: URL, host: string, resolve: Resolve, signal: AbortSignal): Promise<string[]> {
  if (url.hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(host)) return [host];
  const found = await untilAborted(resolve(host), signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    throw unresolved(host, thrown);
  });
  if (found.length === 0) throw unresolved(host, undefined);
  return found;
}

function unresolved(host: string, cause: unknown): RemoraError {
  const isPassing = codeOf(cause) === "EAI_AGAIN";
  return new RemoraError({
    code: "web.unresolved",
    place: host,
    message: isPassing
      ? "its address can't be resolved at the moment"
      : "the host does not exist: check the spelling, or search for the page",
    isRetryable: isPassing,
    cause,
  });
}

function shown(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
