/** Parses the hosts that a call asks for. Refuses wildcards, because nobody can tell which machines they cover. */
import { isIPv4, isIPv6 } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { shorten } from "../../lib/text/shorten.ts";
import { defaultPorts, maxHostCharacters, maxHosts, maxQuotedCharacters } from "./limits.ts";

export interface ApprovedHost {
  /** Lower-case ASCII: a name in punycode, or an address as Node writes it (IPv6 without brackets). */
  host: string;
  ports: number[];
}

export type HostList = { type: "hosts"; hosts: ApprovedHost[] } | { type: "refused"; message: string };

/** Merges entries for the same host. `message` is for the model. */
export function parseHosts(list: readonly string[]): HostList {
  if (list.length === 0) return refused("The list of hosts is empty: name each host, such as github.com.");
  if (list.length > maxHosts) return refused(`At most ${maxHosts} hosts can be approved for one call.`);
  const found = new Map<string, Set<number>>();
  for (const written of list) {
    const entry = parseEntry(written);
    if (typeof entry === "string") return refused(`${quoted(written)} ${entry}`);
    const ports = found.get(entry.host) ?? new Set();
    for (const port of entry.ports) ports.add(port);
    found.set(entry.host, ports);
  }
  return { type: "hosts", hosts: Array.from(found, ([host, ports]) => ({ host, ports: [...ports] })) };
}

export function isApproved(hosts: readonly ApprovedHost[], host: string, port: number): boolean {
  return hosts.some((approved) => approved.host === host && approved.ports.includes(port));
}

/** Formats a host for a card. A non-ASCII name appears in punycode, followed by Unicode in parentheses. */
export function hostLine({ host, ports }: ApprovedHost): string {
  const unicode = domainToUnicode(host);
  const also = unicode === "" || unicode === host ? "" : ` (${unicode})`;
  const named = ports.map((port) => (port === 443 ? "443 (HTTPS)" : port === 80 ? "80 (HTTP)" : String(port)));
  return `${host}${also}, ${ports.length === 1 ? "port" : "ports"} ${named.join(" and ")}`;
}

export function authorityText(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

export function parseAuthority(text: string, defaultPort?: number): { host: string; port: number } | undefined {
  const [, bracketed, name, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/?#[\]\\%]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port === undefined || port < 1 || port > 65_535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: canonicalIpv6(bracketed), port } : undefined;
  const host = normalizeName(name ?? "");
  return host === undefined ? undefined : { host, port };
}

/** Returns an ASCII name or a dotted IPv4 address. Undefined for invalid names and other spellings of addresses. */
function normalizeName(text: string): string | undefined {
  const withoutDot = text.toLowerCase().replace(/\.$/, "");
  if (isIPv4(withoutDot)) return withoutDot;
  const ascii = domainToASCII(withoutDot);
  if (ascii === "" || ascii.length > maxHostCharacters) return undefined;
  const labels = ascii.split(".");
  // Programs disagree on whether 0x7f.1, 2130706433 and 017700000001 are addresses or names.
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")) return undefined;
  return labels.every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/.test(label)) ? ascii : undefined;
}

function parseEntry(written: string): ApprovedHost | string {
  const text = written.trim();
  if (text === "") return "is empty: name a host, such as github.com.";
  if (text.length > maxHostCharacters + 8) return "is too long for a host name.";
  if (text.includes("://") || /[/?#]/.test(text)) return "is a URL: name only its host, such as github.com.";
  if (text.includes("@")) return "contains a user name: name only the host, such as github.com.";
  if (text.includes("*")) return "is a wildcard: name each host that the command needs.";
  if (/:\d*$/.test(text) && !isIPv6(text) && !/:\d{1,5}$/.test(text)) return "has no valid port after its colon.";
  const bare = isIPv6(text) ? `[${text}]` : text;
  const [defaultPort = 443] = defaultPorts;
  const authority = parseAuthority(bare, defaultPort);
  if (authority === undefined) {
    return "is not a host name, host:port or IP address: write it as github.com, packages.example.com:8443 or 192.0.2.1.";
  }
  if (authority.host === "localhost" || authority.host.endsWith(".localhost")) {
    return "is the sandbox itself: a command can reach its own servers there without network access.";
  }
  const hasPort = /:\d+$/.test(bare);
  return { host: authority.host, ports: hasPort ? [authority.port] : [...defaultPorts] };
}

function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function refused(message: string): HostList {
  return { type: "refused", message };
}

/** Quotes untrusted text and escapes its control and invisible characters. */
export function quoted(text: string): string {
  return JSON.stringify(shorten(text, maxQuotedCharacters)).replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
