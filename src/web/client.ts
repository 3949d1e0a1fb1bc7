/**
 * Who sends a request, behind a reverse proxy or not. X-Forwarded-For, -Proto and -Host are believed only if the
 * connection comes from an address in `web.trustedProxies`; of X-Forwarded-For, the last address that is not a trusted
 * proxy counts, because a client can write all addresses before it.
 */
import type { IncomingMessage } from "node:http";
import { isIPv4, isIPv6 } from "node:net";
import type { Context } from "hono";
import { isIn, networkOf } from "../lib/public-address.ts";

export interface Client {
  /** Undefined if the connection is closed already. */
  address: string | undefined;
  /** In lower case, with the port if it is not the default one. */
  host: string;
  isHttps: boolean;
  /** Came through a proxy, trusted or not, so the person is not known to be at this machine. */
  isForwarded: boolean;
  /** Some headers were ignored, because the proxy is not trusted. */
  isUntrustedProxy: boolean;
  /** The connection comes from a loopback address, so from a program on this machine, which may be a proxy. */
  isFromLoopback: boolean;
}

export type ReadClient = (context: Context) => Client;

/** What proxies add by their standard or own names: for whom, over what, by whom. Browsers send none of these. */
const forwardingHeader =
  /(?:^|-)forwarded(?:-|$)|^(?:via|cdn-loop|front-end-https)$|^(?:cf|fastly|fly|akamai|tailscale)-|^x-(?:original|envoy|amzn?|azure|arr|appengine|real|proxyuser|host|scheme|url-scheme|ssl)(?:-|$)|(?:^|-)(?:client|remote|connecting|source|originating|peer|user)-?(?:ip|addr|address|host|port)$/;
const loopback = ["127.0.0.0/8", "::1"].flatMap((written) => networkOf(written) ?? []);

/** `trustedProxies` holds addresses and networks, such as `127.0.0.1` and `10.0.0.0/8`. */
export function createReadClient(trustedProxies: readonly string[]): ReadClient {
  const networks = trustedProxies.flatMap((written) => networkOf(written) ?? []);
  const isTrusted = (address: string | undefined) =>
    address !== undefined && networks.some((network) => isIn(network, address));

  return (context) => {
    const header = (name: string) => context.req.header(name);
    const incoming = incomingOf(context);
    const peer = plainAddress(incoming?.socket.remoteAddress);
    const isFromLoopback = peer !== undefined && loopback.some((network) => isIn(network, peer));
    const isForwarded = Object.keys(incoming?.headers ?? {}).some((name) => forwardingHeader.test(name));
    const own = { host: (header("host") ?? "").toLowerCase(), isHttps: false, isForwarded, isFromLoopback };
    if (!isForwarded || !isTrusted(peer)) return { ...own, address: peer, isUntrustedProxy: isForwarded };
    const addresses = listOf(header("x-forwarded-for")).map(plainAddress);
    return {
      ...{ isForwarded, isFromLoopback, isUntrustedProxy: false },
      address: clientIn(addresses, isTrusted) ?? peer,
      host: (listOf(header("x-forwarded-host")).at(-1) ?? own.host).toLowerCase(),
      isHttps: listOf(header("x-forwarded-proto")).at(-1)?.toLowerCase() === "https",
    };
  };
}

/** Undefined if a proxy wrote something else than an address, such as `unknown`: what is before it may be made up. */
function clientIn(addresses: (string | undefined)[], isTrusted: (address: string | undefined) => boolean) {
  const last = addresses.findLastIndex((address) => !isTrusted(address));
  return addresses[Math.max(0, last)];
}

/** The part of an address that one person can't change: IPv6 networks give each customer 2⁶⁴ addresses. */
export function addressKey(address: string | undefined): string {
  if (address === undefined || !isIPv6(address)) return address ?? "unknown";
  const [head = "", tail] = address.split("%", 1)[0]?.split("::", 2) ?? [];
  const before = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : 8 - before.length - (tail === "" ? 0 : tail.split(":").length);
  const groups = [...before, ...new Array<string>(Math.max(0, missing)).fill("0"), ...(tail ?? "").split(":")];
  return `${groups.slice(0, 4).join(":")}::/64`;
}

/** What one customer of a provider often has: a /24 of IPv4, a /48 of IPv6. */
export function addressBlock(address: string | undefined): string {
  const key = addressKey(plainAddress(address));
  return isIPv4(key) ? key.replace(/\d+$/, "0/24") : key.split(":").slice(0, 3).join(":");
}

function incomingOf(context: Context): IncomingMessage | undefined {
  return ((context.env ?? {}) as { incoming?: IncomingMessage }).incoming;
}

/** Removes the port, brackets and the IPv6 form of an IPv4 address. Undefined if it is no address. */
function plainAddress(written: string | undefined): string | undefined {
  const text = (written ?? "").trim().replace(/^"|"$/g, "");
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare;
  return isIPv4(mapped) || isIPv6(mapped) ? mapped : undefined;
}

function listOf(header: string | undefined): string[] {
  return (header ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
