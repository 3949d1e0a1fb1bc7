/**
 * Decides which proxy a connection takes. Loopback addresses never take one. `NO_PROXY` lists, with commas or spaces:
 * `*`, `host`, `.domain`, `*.domain`, addresses and networks, each with or without `:port`. As in curl, `domain` also
 * stands for every host below it.
 */
import { isIP } from "node:net";
import { type AddressRule, readAddressRule } from "../lib/address-rule.ts";

export interface OutgoingProxy {
  /** The variable that names it, such as `HTTPS_PROXY`. */
  variable: string;
  url: URL;
}

export interface ProxyOptions {
  https?: OutgoingProxy;
  http?: OutgoingProxy;
  noProxy: string;
}

export interface Destination {
  isSecure: boolean;
  /** Without brackets. */
  host: string;
  port: number;
}

export type ProxyFor = (destination: Destination) => OutgoingProxy | undefined;

export function createProxyRules({ https, http, noProxy }: ProxyOptions): ProxyFor {
  const direct = noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .flatMap(rulesOf);
  return ({ isSecure, host: written, port }) => {
    const proxy = isSecure ? https : http;
    if (proxy === undefined) return undefined;
    const host = written.toLowerCase().replace(/\.$/, "");
    const address = isIP(host) === 0 ? undefined : host;
    if (isLoopback(host) || direct.some((rule) => rule.matches(host, address, port))) return undefined;
    return proxy;
  };
}

/** An entry that can't be read matches nothing. */
function rulesOf(entry: string): AddressRule[] {
  if (/^\*(?::\d+)?$/.test(entry)) {
    const at = entry.length > 1 ? Number(entry.slice(2)) : undefined;
    return [{ matches: (_host, _address, port) => (at ?? port) === port, hasPort: at !== undefined }];
  }
  const name = entry.replace(/^\*?\./, "");
  const written = name === entry ? [entry, `*.${entry}`] : [`*.${name}`];
  return written.flatMap((rule) => readAddressRule(rule) ?? []);
}

const loopback = readAddressRule("127.0.0.0/8");

function isLoopback(host: string): boolean {
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "::1" ||
    (isIP(host) === 4 && loopback?.matches(host, host, 0) === true)
  );
}

/** Without user name and password. */
export function nameOfProxy({ url, variable }: OutgoingProxy): string {
  return `proxy ${url.protocol}//${url.host} (${variable})`;
}
