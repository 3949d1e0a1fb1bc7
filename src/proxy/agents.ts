/**
 * The agents of `node:http` and `node:https`. A request with its own `lookup` has checked the addresses that it may reach
 * (the web skill), so the proxy gets the address instead of the name.
 */
import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP, isIPv6, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import type { ProxyFor } from "./proxy-rules.ts";
import { openTunnel, secureTunnel } from "./tunnel.ts";

type Callback = (error: Error | null, socket: Duplex) => void;

interface ConnectionRequest extends ConnectionOptions {
  lookup?: LookupFunction;
}

/** As Node's global agents. */
const usual: AgentOptions = { keepAlive: true, scheduling: "lifo", timeout: 5_000 };

export interface ProxyAgents {
  http: HttpAgent;
  https: HttpsAgent;
}

export function createAgents(proxyFor: ProxyFor): ProxyAgents {
  /** Returns false if the destination takes no proxy. */
  function connect(isSecure: boolean, request: ConnectionRequest, callback: Callback): boolean {
    const name = request.host ?? "localhost";
    const port = Number(request.port ?? (isSecure ? 443 : 80));
    const proxy = proxyFor({ isSecure, host: name, port });
    if (proxy === undefined) return false;
    const open = async () => {
      const host = await checkedAddress(name, request.lookup);
      const socket = await openTunnel({ proxy, host, port });
      if (!isSecure) return socket;
      const { lookup: _lookup, path: _path, socket: _socket, ...tls } = request;
      const servername = request.servername ?? (isIP(name) === 0 ? name : "");
      return await secureTunnel({ proxy, host: name, port }, socket, { ...tls, servername });
    };
    open().then(
      (socket) => callback(null, socket),
      (thrown) => callback(thrown, undefined as never),
    );
    return true;
  }

  // A request with `agent: false` creates its own agent by calling the constructor without options.
  class ProxyHttpAgent extends HttpAgent {
    override createConnection(request: ConnectionRequest, callback: Callback): Duplex | null | undefined {
      return connect(false, request, callback) ? undefined : super.createConnection(request as never, callback);
    }
  }
  class ProxyHttpsAgent extends HttpsAgent {
    override createConnection(request: ConnectionRequest, callback: Callback): Duplex | null | undefined {
      return connect(true, request, callback) ? undefined : super.createConnection(request as never, callback);
    }
  }
  return { http: new ProxyHttpAgent(usual), https: new ProxyHttpsAgent(usual) };
}

async function checkedAddress(name: string, lookup: LookupFunction | undefined): Promise<string> {
  if (lookup === undefined || isIP(name) !== 0) return name;
  return await new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) => {
      const all = (Array.isArray(addresses) ? addresses : []).map(({ address }) => address);
      const first = all.find((address) => !isIPv6(address)) ?? all[0];
      if (error !== null || first === undefined) reject(error ?? new Error(`${name} has no address`));
      else resolve(first);
    });
  });
}
