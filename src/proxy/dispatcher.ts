/** What `fetch`, undici's WebSocket and Discord's REST client send their requests with. */
import type { Socket } from "node:net";
import { Agent, buildConnector } from "undici";
import type { ProxyFor } from "./proxy-rules.ts";
import { openTunnel, secureTunnel } from "./tunnel.ts";

export function createDispatcher(proxyFor: ProxyFor): Agent {
  const direct = buildConnector({ allowH2: false });

  async function tunnelled(options: buildConnector.Options): Promise<Socket | undefined> {
    const isSecure = options.protocol === "https:";
    const host = options.hostname.replace(/^\[|\]$/g, "");
    const port = Number(options.port || (isSecure ? 443 : 80));
    const proxy = proxyFor({ isSecure, host, port });
    if (proxy === undefined) return undefined;
    const tunnel = { proxy, host, port };
    const socket = await openTunnel(tunnel);
    if (!isSecure) return socket;
    const servername = options.servername ?? host;
    return await secureTunnel(tunnel, socket, { host, servername, ALPNProtocols: ["http/1.1"] });
  }

  return new Agent({
    allowH2: false,
    connect(options, callback) {
      tunnelled(options).then(
        (socket) => {
          if (socket === undefined) direct(options, callback);
          else callback(null, socket);
        },
        (thrown) => callback(thrown, null),
      );
    },
  });
}
