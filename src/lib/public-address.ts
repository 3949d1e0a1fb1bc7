/**
 * Tells public internet addresses from all others, by IANA's registries of special-purpose addresses (RFC 6890 and its
 * updates). For IPv6, only global unicast (2000::/3) counts as public, without its special blocks.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

const specialIpv4 = listOf("ipv4", [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by carriers
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // not in the registries: Azure's address for a machine's own configuration and secrets
  "169.254.0.0/16", // link-local, cloud metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // multicast tunnels
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
]);

const globalIpv6 = listOf("ipv6", ["2000::/3"]);
const specialIpv6 = listOf("ipv6", [
  "2001::/23", // protocol assignments: Teredo, benchmarking, ORCHID
  "2001:4:112::/48", // AS112
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
]);
/** IPv4-mapped addresses and NAT64's well-known prefix: the last 32 bits are the IPv4 address. */
const holdsIpv4 = listOf("ipv6", ["::ffff:0:0/96", "64:ff9b::/96"]);

/** False for invalid addresses too. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !specialIpv4.check(address, "ipv4");
  // Only link-local and multicast addresses have a zone (fe80::1%eth0).
  if (!isIPv6(address) || address.includes("%")) return false;
  if (holdsIpv4.check(address, "ipv6")) return !specialIpv4.check(embeddedIpv4(address), "ipv4");
  return globalIpv6.check(address, "ipv6") && !specialIpv6.check(address, "ipv6");
}

/** Returns this machine's own addresses, which can reach services behind its firewall even if they are public. */
export function ownAddresses(): Set<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
}

export function networkOf(written: string): BlockList | undefined {
  const [, address = "", bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(written) ?? [];
  const family = isIPv4(address) ? "ipv4" : isIPv6(address) && !address.includes("%") ? "ipv6" : undefined;
  if (family === undefined) return undefined;
  const most = family === "ipv4" ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  return length > most ? undefined : listOf(family, [`${address}/${length}`]);
}

export function isIn(network: BlockList, address: string): boolean {
  if (isIPv4(address)) return network.check(address, "ipv4");
  return isIPv6(address) && !address.includes("%") && network.check(address, "ipv6");
}

function listOf(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", length = ""] = network.split("/");
    list.addSubnet(address, Number(length), family);
  }
  return list;
}

function embeddedIpv4(address: string): string {
  // The URL parser converts every notation to hexadecimal groups.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(":");
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || "0", 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
