/**
 * An HTTP proxy on loopback that knows CONNECT only, counts tunnels, and can misbehave. Names lead to loopback: the port
 * that a name was given, or the port that was asked for.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type ProxyManner =
  | { type: "works" }
  /** Answers with this status instead of opening a tunnel. */
  | { type: "refuses"; status: number; words: string }
  /** Says 200, and then sends this instead of what the destination says. */
  | { type: "lies"; text: string }
  | { type: "is-no-proxy" }
  | { type: "cuts" }
  | { type: "hangs" };

export interface ConnectProxy {
  port: number;
  /** Without user name and password. */
  url: string;
  /** `host:port` of every CONNECT request, oldest first. */
  asked: string[];
  /** Sorted host names without repetitions. */
  hosts(): string[];
  manner: ProxyManner;
  stop(): Promise<void>;
}

export interface ConnectProxyOptions {
  /** Ports on loopback, by host. */
  ports?: Record<string, number>;
  /** `user:password`; others get 407. */
  credentials?: string;
}

export async function startConnectProxy({ ports = {}, credentials }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => {
    keep(client);
    let head = "";
    const read = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      client.off("data", read).pause();
      serve(client, head);
    };
    client.on("data", read);
  });

  function serve(client: Socket, head: string): void {
    const [, authority = "", host = "", port = ""] = /^CONNECT ((\S+):(\d+)) HTTP\/1\.1\r\n/.exec(head) ?? [];
    if (authority === "") {
      client.end("HTTP/1.1 405 Only CONNECT\r\n\r\n");
      return;
    }
    proxy.asked.push(authority);
    const sent = /^proxy-authorization: Basic (\S+)\r?$/im.exec(head)?.[1] ?? "";
    const { manner } = proxy;
    if (credentials !== undefined && Buffer.from(sent, "base64").toString() !== credentials)
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n");
    else if (manner.type === "refuses") client.end(`HTTP/1.1 ${manner.status} ${manner.words}\r\n\r\n`);
    else if (manner.type === "lies") client.end(`HTTP/1.1 200 Connection established\r\n\r\n${manner.text}`);
    else if (manner.type === "is-no-proxy") client.end("220 mail.example ESMTP\r\n");
    else if (manner.type === "cuts") client.destroy();
    else if (manner.type === "works") tunnel(client, ports[host] ?? Number(port));
  }

  function tunnel(client: Socket, port: number): void {
    const target = keep(connect(port, "127.0.0.1"));
    target.once("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
    target.once("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(target);
      target.pipe(client);
    });
    target.on("close", () => client.destroy());
    client.on("close", () => target.destroy());
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: ConnectProxy = {
    port,
    url: `http://127.0.0.1:${port}`,
    asked: [],
    hosts: () => [...new Set(proxy.asked.map((authority) => authority.replace(/:\d+$/, "")))].toSorted(),
    manner: { type: "works" },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
