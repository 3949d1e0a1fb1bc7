/** A reverse proxy with HTTPS, as docs/reverse-proxy.md wants it: it passes on Host, and says who came and how. */
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority } from "../../src/sandbox/egress/certificates.ts";

export interface ReverseProxy {
  /** The public address: `https://localhost:` and a port. Browsers don't know who signed its certificate. */
  url: string;
  /** Where requests go: `http://127.0.0.1:` and a port. Until it is set, the answer is 502. */
  upstream: string | undefined;
  close(): Promise<void>;
}

export async function startReverseProxy(): Promise<ReverseProxy> {
  const server = createServer(await (await createAuthority()).credentialsFor("localhost"), (incoming, outgoing) => {
    if (proxy.upstream === undefined) {
      outgoing.writeHead(502).end();
      return;
    }
    const { method, url, headers, socket } = incoming;
    const forwarding = { "x-forwarded-for": socket.remoteAddress, "x-forwarded-proto": "https" };
    const { hostname, port } = new URL(proxy.upstream);
    const passed = request(
      { hostname, port, method, path: url, headers: { ...headers, ...forwarding } },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      },
    );
    passed.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: ReverseProxy = {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    upstream: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
