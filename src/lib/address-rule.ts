/** Rules for hosts, addresses and networks: `wiki.corp`, `*.corp`, `10.1.0.0/16` (without port), `[fd00::1]:8080`. */
import type { BlockList } from "node:net";
import { isIn, networkOf } from "./public-address.ts";

export interface AddressRule {
  matches(host: string, address: string | undefined, port: number): boolean;
  hasPort: boolean;
}

export function readAddressRule(written: string): AddressRule | undefined {
  const text = written.trim().toLowerCase();
  const network = networkOf(text);
  if (network !== undefined) return networkRule(network, undefined);
  const [, inBrackets, name = "", digits] = /^(?:\[([^\]]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const address = networkOf(inBrackets ?? name);
  if (address !== undefined) return networkRule(address, port);
  return name === "" ? undefined : hostRule(name, port);
}

function networkRule(network: BlockList, port: number | undefined): AddressRule {
  return {
    matches: (_host, address, at) => address !== undefined && isIn(network, address) && (port ?? at) === at,
    hasPort: port !== undefined,
  };
}

/** `*.corp.example` matches every host below corp.example. */
function hostRule(written: string, port: number | undefined): AddressRule | undefined {
  const isBelow = written.startsWith("*.");
  const url = URL.parse(`http://${isBelow ? written.slice(2) : written}/`);
  if (url === null || url.pathname !== "/" || url.username !== "" || url.hostname.includes("*")) return undefined;
  const name = url.hostname.replace(/\.$/, "");
  return {
    matches: (host, _address, at) => (isBelow ? host.endsWith(`.${name}`) : host === name) && (port ?? at) === at,
    hasPort: port !== undefined,
  };
}
