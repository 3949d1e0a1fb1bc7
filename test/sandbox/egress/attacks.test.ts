/** Attempts to bypass the proxy, to reach other hosts through it, or to break it. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate as nextTick } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { readAddressRule } from "../../../src/lib/address-rule.ts";
import { createAuthority } from "../../../src/sandbox/egress/certificates.ts";
import { readServerName } from "../../../src/sandbox/egress/client-hello.ts";
import { createConnectionRecords, type EgressConnection } from "../../../src/sandbox/egress/connections.ts";
import { createDial } from "../../../src/sandbox/egress/dial.ts";
import { parseHosts } from "../../../src/sandbox/egress/hosts.ts";
import { maxConnections, maxOpenConnections } from "../../../src/sandbox/egress/limits.ts";
import { createProxy } from "../../../src/sandbox/egress/proxy.ts";
import { readSecrets } from "../../../src/sandbox/egress/secrets.ts";
import { runs } from "../../faults/share.ts";
import { openEgress, openNamespace } from "./namespace.ts";
import { httpServer, socketServer, tlsServer } from "./servers.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const kept = <T extends { close(): unknown }>(opened: T): T => {
  closing.push(() => opened.close());
  return opened;
};

interface Opened {
  port: number;
  looked: string[];
  connections(): EgressConnection[];
  outcomes(): string[];
  limitReached(): boolean;
  /** Sends bytes and reads until the proxy closes. */
  send(bytes: string | Uint8Array): Promise<string>;
  open(): Promise<Socket>;
}

interface ProxyOptions {
  allow?: string[];
  secrets?: Record<string, Record<string, string>>;
  /** Connections that were made before. */
  used?: number;
}

/** The proxy on this machine's loopback, without a view. */
async function openProxy(
  network: readonly string[],
  resolve: (host: string) => string[],
  { allow = ["127.0.0.1"], secrets = {}, used = 0 }: ProxyOptions = {},
): Promise<Opened> {
  const parsed = parseHosts(network);
  if (parsed.type === "refused") throw new Error(parsed.message);
  const looked: string[] = [];
  const rules = allow.flatMap((written) => readAddressRule(written) ?? []);
  const records = createConnectionRecords(() => {});
  for (let count = 0; count < used; count += 1) records.begin("web.test", 443).end("ended");
  let isOverLimit = false;
  const ending = new AbortController();
  const proxy = createProxy(
    {
      ...{ hosts: parsed.hosts, secrets: readSecrets(secrets), records, signal: ending.signal },
      dial: createDial(rules, async (host) => {
        looked.push(host);
        return resolve(host);
      }),
      authority: await createAuthority(),
      trust: () => {
        throw new Error("not needed");
      },
    },
    () => {
      isOverLimit = true;
    },
  );
  const server: Server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  proxy.listen(server);
  kept({
    close() {
      ending.abort();
      proxy.close();
    },
  });
  const open = async () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    kept({ close: () => socket.destroy() });
    await once(socket, "connect");
    return socket;
  };
  return {
    ...{ port, looked, open },
    connections: () => records.list(),
    limitReached: () => isOverLimit,
    outcomes: () => records.list().map(({ outcome }) => outcome),
    async send(bytes) {
      const socket = await open();
      const chunks: Buffer[] = [];
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.write(bytes);
      await once(socket, "close");
      return Buffer.concat(chunks).toString("latin1");
    },
  };
}

describe("nothing but the approved hosts", () => {
  test.each([
    "169.254.169.254:80",
    "127.0.0.1:80",
    "[::1]:80",
    "[::ffff:127.0.0.1]:80",
    "[64:ff9b::7f00:1]:80",
    "2130706433:80",
    "017700000001:80",
    "0x7f000001:80",
    "0x7f.0.0.1:80",
    "127.1:80",
    "localhost:80",
    "web.test.:81",
    "web.test:25",
    "web.test:080443",
    "web.test:443/path",
    "web.test:443?x",
    "user@web.test:443",
    "user:pass@web.test:443",
    "http://web.test:443",
    "web.test",
    "web.test:",
    ":443",
    "web.test:443:443",
    "web.test%00.evil.test:443",
    "evil.test\0.web.test:443",
    "web.test\0.evil.test:443",
    "web.test#.evil.test:443",
    "web.test\\.evil.test:443",
    "evil.test:443",
    "sub.web.test:443",
    "web.test.evil.test:443",
    "/",
    "*",
  ])("CONNECT %s is refused before any name is looked up", async (authority) => {
    const proxy = await openProxy(["web.test:443"], () => ["127.0.0.1"]);
    expect(await proxy.send(`CONNECT ${authority} HTTP/1.1\r\nHost: web.test:443\r\n\r\n`)).toMatch(/^HTTP\/1.1 4/);
    expect(proxy.looked).toEqual([]);
  });

  test.each([
    ["another host", "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ["another port", "GET http://web.test:8080/ HTTP/1.1\r\nHost: web.test:8080\r\n\r\n"],
    ["Host that disagrees", "GET http://web.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ["Host with another port", "GET http://web.test/ HTTP/1.1\r\nHost: web.test:81\r\n\r\n"],
    ["two Hosts", "GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nHost: evil.test\r\n\r\n"],
    ["two equal Hosts", "GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nHost: web.test\r\n\r\n"],
    ["no Host", "GET http://web.test/ HTTP/1.1\r\n\r\n"],
    ["userinfo", "GET http://web.test@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ["userinfo of the host itself", "GET http://a:b@web.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    ["a backslash", "GET http://web.test\\@evil.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    ["a path only", "GET / HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    ["https", "GET https://web.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    ["ftp", "GET ftp://web.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    ["file", "GET file:///etc/passwd HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    [
      "both lengths",
      "POST http://web.test/ HTTP/1.1\r\nHost: web.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "two lengths",
      "POST http://web.test/ HTTP/1.1\r\nHost: web.test\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    ],
    [
      "another coding",
      "POST http://web.test/ HTTP/1.1\r\nHost: web.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "a disguised coding",
      "POST http://web.test/ HTTP/1.1\r\nHost: web.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "a space before the colon",
      "POST http://web.test/ HTTP/1.1\r\nHost: web.test\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a folded header", "GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nX: a\r\n Host: evil.test\r\n\r\n"],
    ["bare line feeds", "GET http://web.test/ HTTP/1.1\nHost: web.test\n\n"],
    ["a bare carriage return", "GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nX: a\rHost: evil.test\r\n\r\n"],
    ["a NUL", "GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nX: a\0b\r\n\r\n"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["HTTP/0.9", "GET http://web.test/\r\n\r\n"],
    ["SOCKS 5", "\x05\x01\x00"],
    ["huge headers", `GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nX: ${"a".repeat(100_000)}\r\n\r\n`],
    ["a long URL", `GET http://web.test/${"a".repeat(100_000)} HTTP/1.1\r\nHost: web.test\r\n\r\n`],
  ])("a request with %s is refused before any name is looked up", async (_what, request) => {
    const proxy = await openProxy(["web.test"], () => ["127.0.0.1"]);
    expect(await proxy.send(request)).toMatch(/^HTTP\/1.1 [45]/);
    expect(proxy.looked).toEqual([]);
  });

  test("what one server would read as two requests arrives as one", async () => {
    let received = "";
    const site = kept(
      await socketServer((socket) => {
        socket.on("data", (chunk) => {
          received += chunk.toString("latin1");
          if (received.includes("\r\n0\r\n\r\n")) socket.end("HTTP/1.1 204 No Content\r\n\r\n");
        });
      }),
    );
    const proxy = await openProxy([`web.test:${site.port}`], () => ["127.0.0.1"]);
    const target = `http://web.test:${site.port}/`;
    const inner = `GET /admin HTTP/1.1\r\nHost: web.test:${site.port}\r\n\r\n`;
    const size = inner.length.toString(16);
    const reply = await proxy.send(
      `POST ${target} HTTP/1.1\r\nHost: web.test:${site.port}\r\nTransfer-Encoding: chunked\r\nConnection: close, Content-Length\r\n\r\n${size};x="\t"\r\n${inner}\r\n0\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1.1 204/);
    expect(received).toBe(
      `POST / HTTP/1.1\r\nHost: web.test:${site.port}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${size}\r\n${inner}\r\n0\r\n\r\n`,
    );
  });

  test("a second request on the connection is judged on its own", async () => {
    const site = kept(await httpServer((_request, response) => response.end("reached")));
    const proxy = await openProxy([`web.test:${site.port}`], () => ["127.0.0.1"]);
    const first = `GET http://web.test:${site.port}/ HTTP/1.1\r\nHost: web.test:${site.port}\r\n\r\n`;
    const reply = await proxy.send(`${first}GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`);
    expect(reply).toMatch(/reached[\s\S]*403 Forbidden/);
    expect(proxy.looked).toEqual(["web.test"]);
  });
});

describe("nothing but public addresses", () => {
  const ask = "CONNECT web.test:443 HTTP/1.1\r\n\r\n";

  test.each([
    ["loopback", "127.0.0.1"],
    ["private", "10.1.2.3"],
    ["carrier-grade NAT", "100.64.0.1"],
    ["metadata", "169.254.169.254"],
    ["documentation", "192.0.2.1"],
    ["IPv6 loopback", "::1"],
    ["mapped", "::ffff:10.0.0.1"],
    ["NAT64", "64:ff9b::a00:1"],
    ["6to4", "2002:a00:1::1"],
    ["link-local", "fe80::1"],
    ["unique local", "fd00::1"],
    ["broadcast", "255.255.255.255"],
    ["any", "0.0.0.0"],
  ])("a name that leads to a %s address is refused, also among public ones", async (_what, address) => {
    for (const answer of [[address], ["93.184.216.34", address]]) {
      const proxy = await openProxy(["web.test"], () => answer, { allow: [] });
      expect(await proxy.send(ask)).toContain("an address inside a private network or on this machine");
      expect(proxy.outcomes()).toEqual(["not-public"]);
    }
  });

  test("an approved address that is not public is refused all the same", async () => {
    const proxy = await openProxy(["127.0.0.1:80", "[::1]:80"], () => [], { allow: [] });
    expect(await proxy.send("CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n")).toContain("403");
    expect(await proxy.send("CONNECT [::1]:80 HTTP/1.1\r\n\r\n")).toContain("403");
    expect(proxy.outcomes()).toEqual(["not-public", "not-public"]);
  });

  test("a name is looked up once for each connection, and what was checked is what is connected to", async () => {
    const site = kept(await httpServer((_request, response) => response.end("reached")));
    const answers = ["127.0.0.1", "127.0.0.2", "127.0.0.2"];
    const proxy = await openProxy([`web.test:${site.port}`], () => [answers.shift() ?? ""]);
    const get = `GET http://web.test:${site.port}/ HTTP/1.1\r\nHost: web.test:${site.port}\r\nConnection: close\r\n\r\n`;
    expect(await proxy.send(get)).toContain("reached");
    expect(proxy.looked).toHaveLength(1);
    expect(await proxy.send(`CONNECT web.test:${site.port} HTTP/1.1\r\n\r\n`)).toContain("403");
    expect(proxy.connections().map(({ address }) => address)).toEqual(["127.0.0.1", undefined]);
  });

  test("a resolver's nonsense and failures are told as such", async () => {
    for (const answer of [[], ["not an address"]]) {
      const proxy = await openProxy(["web.test"], () => answer);
      expect(await proxy.send(ask)).toContain("the host name can't be resolved");
    }
    const failing = await openProxy(["web.test"], () => {
      throw new Error("no");
    });
    expect(await failing.send(ask)).toContain("the host name can't be resolved");
  });
});

describe("a tunnel's TLS", () => {
  async function helloOf(servername: string | undefined): Promise<Buffer> {
    const site = kept(await socketServer(() => {}));
    const hello = once(site.server, "connection").then(
      async ([socket]) => (await once(socket as Socket, "data"))[0] as Buffer,
    );
    const client = connectTls({
      port: site.port,
      host: "127.0.0.1",
      ...(servername === undefined ? {} : { servername }),
    });
    client.on("error", () => {});
    kept({ close: () => client.destroy() });
    return hello;
  }

  async function openTunnels(host = "web.test") {
    let received = Buffer.alloc(0);
    const site = kept(
      await socketServer((socket) => socket.on("data", (chunk) => (received = Buffer.concat([received, chunk])))),
    );
    const proxy = await openProxy([`${host}:${site.port}`], () => ["127.0.0.1"]);
    const tunnel = async () => {
      const socket = await proxy.open();
      socket.write(`CONNECT ${host}:${site.port} HTTP/1.1\r\n\r\n`);
      await once(socket, "data");
      return socket;
    };
    return { proxy, site, tunnel, received: () => received };
  }

  /** With another name of the same length. */
  const renamed = (hello: Buffer, name: string) =>
    Buffer.from(hello.toString("latin1").replace("web.test", name), "latin1");

  test("a tunnel's TLS names the tunnel's host, in however many pieces, or is cut before a byte gets out", async () => {
    const { proxy, tunnel, received } = await openTunnels();
    const right = await helloOf("WEB.test");
    const first = await tunnel();
    for (const byte of right) first.write(Uint8Array.of(byte));
    await expect.poll(() => received().length).toBe(right.length);
    const named = await helloOf("web.test");
    const refused = [
      await helloOf("evil.test"),
      await helloOf(undefined),
      // A server may take its own default for names that a generous comparison takes for the host.
      ...["web\xadtes", "web.te\0t", "%77eb.te", "web..tst"].map((name) => renamed(named, name)),
      Buffer.concat([named, renamed(named, "sub.test")]),
      named.subarray(0, 40),
    ];
    for (const hello of refused) {
      const wrong = await tunnel();
      wrong.end(hello);
      wrong.resume();
      await once(wrong, "close");
    }
    expect(received().length).toBe(right.length);
    expect(new Set(proxy.outcomes())).toEqual(new Set(["open", "wrong-name", "no-name", "closed"]));
  });

  test("a tunnel to an address takes TLS without a server name, and with no other one", async () => {
    const { tunnel, received } = await openTunnels("127.0.0.1");
    const nameless = await helloOf(undefined);
    (await tunnel()).write(nameless);
    await expect.poll(() => received().length).toBe(nameless.length);
    const wrong = await tunnel();
    wrong.write(await helloOf("evil.test"));
    wrong.resume();
    await once(wrong, "close");
    expect(received().length).toBe(nameless.length);
  });

  test.each([
    ["the host of a neighbour", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ["the address of a neighbour", "GET http://evil.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    ["a neighbour at second", "GET / HTTP/1.1\r\nHost: evil.test\r\nHost: web.test\r\n\r\n"],
    ["a line before a neighbour", "\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["SSH", "SSH-2.0-OpenSSH_9.9\r\n"],
    ["SOCKS", "\x05\x01\x00"],
    ["a hello of SSL 2", "\x80\x2e\x01\x00\x02"],
    ["any bytes", "\x00\x01\x02 Host: evil.test\r\n\r\n"],
  ])("a tunnel lets only TLS and HTTP to its own host through: %s is refused", async (_what, bytes) => {
    const { proxy, tunnel, received } = await openTunnels();
    const socket = await tunnel();
    socket.end(bytes);
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1.1 400/);
    expect(received().length).toBe(0);
    expect(proxy.outcomes()).toEqual(["ended", "bad-request"]);
  });

  test("a tunnel in which nothing is said ends within seconds, and no server speaks in it first", async () => {
    const { proxy, site, tunnel } = await openTunnels();
    site.server.on("connection", (socket) => socket.write("220 speaks first"));
    const [silent, half] = [await tunnel(), await tunnel()];
    half.write((await helloOf("web.test")).subarray(0, 20));
    let said = "";
    silent.on("data", (chunk) => (said += chunk));
    await Promise.all([once(silent, "close"), once(half.resume(), "close")]);
    expect([said, proxy.outcomes()]).toEqual(["", ["silent", "silent"]]);
  });

  test("is read the same in any split into records, and any bytes are read without an error", async () => {
    const hello = await helloOf("web.test");
    const message = hello.subarray(5);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), (size) => {
        const records: Buffer[] = [];
        for (let at = 0; at < message.length; at += size) {
          const part = message.subarray(at, at + size);
          records.push(Buffer.from([0x16, 3, 1, part.length >> 8, part.length & 255]), part);
        }
        expect(readServerName(Buffer.concat(records))).toEqual({ type: "name", name: "web.test" });
      }),
    );
    for (let length = 0; length < hello.length; length += 1) {
      expect(readServerName(hello.subarray(0, length)).type).toBe("more");
    }
    const changed = fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 400 }), changed), (input) => {
        const bytes = Buffer.from(input instanceof Uint8Array ? input : hello);
        if (!(input instanceof Uint8Array)) for (const [at, value] of input) bytes[at] = value;
        expect(["name", "none", "other", "more", "broken"]).toContain(readServerName(bytes).type);
      }),
      { numRuns: runs(3_000) },
    );
  });
});

describe("a namespace", () => {
  test("has no other way out than its own proxy, and no other command's", async () => {
    const site = kept(await httpServer((_request, response) => response.end("reached")));
    const names = { "web.test": "127.0.0.1" };
    const egress = kept(await openEgress([`web.test:${site.port}`], names));
    const other = kept(await openEgress(["other.test"], {}));
    const url = `http://web.test:${site.port}/`;
    expect((await egress.run(`curl -sS ${url}`)).output).toBe("reached");
    expect((await egress.run(`curl -sS --noproxy '*' --max-time 5 ${url}`)).output).toContain("Could not resolve host");
    expect((await egress.run(`curl -sS --noproxy '*' --max-time 5 http://127.0.0.1:${site.port}/`)).code).toBe(7);
    expect((await egress.run("curl -sS --noproxy '*' --max-time 5 http://93.184.216.34/")).code).toBe(7);
    const borrowed = await other.run(`curl -sS --max-time 5 -x ${egress.env.http_proxy} ${url}`);
    expect([borrowed.code, borrowed.output.includes("reached")]).toEqual([7, false]);
    // On the host, another program may have the proxy's port, so only what the proxy itself says is meant.
    const inside = (await egress.run(`curl -sS --noproxy '*' ${egress.env.http_proxy}`)).output.trim();
    expect(inside).not.toBe("");
    const outside = await fetch(egress.env.http_proxy ?? "").then(
      (response) => response.text(),
      () => "",
    );
    expect(outside.trim()).not.toBe(inside);
  });

  test("loses every connection at once when its session closes in the middle of a transfer", async () => {
    const site = kept(
      await httpServer((_request, response) => {
        response.writeHead(200, { "content-length": 1e9 });
        response.write("x".repeat(100_000));
      }),
    );
    const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
    const child = egress.start(`curl -sS http://web.test:${site.port}/; echo "code $?"`);
    const chunks: Buffer[] = [];
    child.stdout?.on("data", (chunk) => chunks.push(chunk));
    await expect.poll(() => Buffer.concat(chunks).length).toBeGreaterThan(50_000);
    await egress.session.close();
    await once(child, "close");
    expect(Buffer.concat(chunks).toString()).toMatch(/code (?:18|56)/);
    expect(egress.logged).toMatchObject([{ host: "web.test", outcome: "closed" }]);
    expect((await egress.run(`curl -sS http://web.test:${site.port}/`)).code).toBe(7);
  });

  test("that is gone or is not one of its own is told, and leaves no socket behind", async () => {
    const namespace = await openNamespace();
    await namespace.close();
    const egress = kept(await openEgress(["web.test"], {}));
    const { signal } = new AbortController();
    await expect(egress.session.connect(namespace.pid, signal)).rejects.toThrow(/can't listen inside the view/);
    await expect(egress.session.connect(process.pid, signal)).rejects.toThrow(/can't listen inside the view/);
    const stopped = AbortSignal.abort(new Error("stopped"));
    await expect(egress.session.connect(egress.pid, stopped)).rejects.toThrow("stopped");
  });
});

test("plain HTTP in a tunnel is read request by request, and none reaches another host", async () => {
  const hosts: unknown[] = [];
  const site = kept(
    await httpServer(({ headers }, response) => {
      hosts.push(headers.host);
      response.end("reached");
    }),
  );
  const authority = `web.test:${site.port}`;
  const proxy = await openProxy([authority], () => ["127.0.0.1"]);
  const get = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const reply = await proxy.send(`CONNECT ${authority} HTTP/1.1\r\n\r\n${get(authority)}${get("evil.test")}`);
  expect(reply).toMatch(/200 Connection established[\s\S]*200 OK[\s\S]*reached[\s\S]*400 Bad Request/);
  expect(hosts).toEqual([authority]);
  expect(proxy.outcomes()).toEqual(["ended", "ended", "bad-request"]);
});

describe("the process", () => {
  test("survives any bytes, in requests and inside tunnels, and goes on serving", async () => {
    const site = kept(await httpServer((_request, response) => response.end("reached")));
    const authority = `web.test:${site.port}`;
    const proxy = await openProxy([authority, "safe.test"], () => ["127.0.0.1"], {
      secrets: { "safe.test": { Authorization: "s3cr3t" } },
    });
    const request = `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nUpgrade: websocket\r\nConnection: upgrade\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\n\r\n`;
    const starts = [
      "",
      request,
      `CONNECT ${authority} HTTP/1.1\r\n\r\n`,
      "CONNECT safe.test:443 HTTP/1.1\r\n\r\n",
      "\x16\x03\x01",
    ];
    const edits = fc.array(fc.tuple(fc.nat(400), fc.uint8Array({ maxLength: 6 })), { maxLength: 6 });
    const anything = fc.tuple(fc.constantFrom(...starts), edits, fc.uint8Array({ maxLength: 200 }));
    await fc.assert(
      fc.asyncProperty(anything, async ([start, changes, rest]) => {
        const bytes = Buffer.concat([Buffer.from(start, "latin1"), rest]);
        for (const [at, change] of changes)
          bytes.set(change.subarray(0, Math.max(0, bytes.length - at)), Math.min(at, bytes.length));
        const socket = connect(proxy.port, "127.0.0.1");
        socket.on("error", () => {});
        await once(socket, "connect");
        socket.end(bytes);
        socket.resume();
        await nextTick();
        if (rest.length % 2 === 0) socket.destroy();
        else await Promise.race([once(socket, "close"), nextTick()]);
        socket.destroy();
      }),
      { numRuns: runs(600) },
    );
    const get = `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`;
    expect(await proxy.send(get)).toContain("reached");
  });

  test("survives any answer of a server", async () => {
    const answers: Uint8Array[] = [];
    const site = kept(await socketServer((socket) => socket.once("data", () => socket.end(answers.pop() ?? ""))));
    const authority = `web.test:${site.port}`;
    const proxy = await openProxy([authority], () => ["127.0.0.1"]);
    const heads = [
      "",
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 101 S\r\nUpgrade: websocket\r\n",
      "HTTP/1.1 099 \x01\r\n\r\n",
      "HTTP/1.1 100 C\r\n\r\n",
    ];
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...heads),
        fc.uint8Array({ maxLength: 100 }),
        fc.boolean(),
        async (head, rest, asks) => {
          answers.push(Buffer.concat([Buffer.from(head, "latin1"), rest]));
          const more = asks ? upgrade : "Connection: close\r\n";
          await proxy.send(`GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n${more}\r\n`);
        },
      ),
      { numRuns: runs(300) },
    );
    expect(proxy.outcomes()).not.toContain("open");
  });

  test("takes no more connections at once than its limit, and frees what a command lets go of", async () => {
    const proxy = await openProxy(["web.test"], () => []);
    const sockets = await Promise.all(Array.from({ length: maxOpenConnections }, () => proxy.open()));
    await once(await proxy.open(), "close");
    for (const socket of sockets.slice(0, 2)) socket.destroy();
    await expect.poll(() => proxy.send("CONNECT web.test:443 HTTP/1.1\r\n\r\n").catch(() => "")).toContain("502");
  });

  test("closes the proxy of a command that has used up its connections", async () => {
    const proxy = await openProxy(["web.test"], () => [], { used: maxConnections });
    expect(await proxy.send("CONNECT web.test:443 HTTP/1.1\r\n\r\n")).toBe("");
    expect(proxy.limitReached()).toBe(true);
    await expect(proxy.send("CONNECT web.test:443 HTTP/1.1\r\n\r\n")).rejects.toThrow("ECONNREFUSED");
  });

  test("closes a connection over which nothing comes, and ends a request whose headers never come to their end", async () => {
    const proxy = await openProxy(["web.test"], () => []);
    const [silent, socket] = [await proxy.open(), await proxy.open()];
    socket.write("GET http://web.test/ HTTP/1.1\r\n");
    const drip = setInterval(() => socket.write("X: y\r\n"), 1_000);
    kept({ close: () => clearInterval(drip) });
    await Promise.all([once(silent.resume(), "close"), once(socket.resume(), "close")]);
    expect(proxy.looked).toEqual([]);
  });

  test("answers others while a command floods its proxy", async () => {
    const site = kept(await tlsServer("web.test", (_request, response) => response.end("alive")));
    const egress = kept(await openEgress(["web.test"], {}));
    const port = new URL(egress.env.http_proxy ?? "").port;
    egress.start(
      `node -e 'for (let n = 0; n < 60; n++) (function again() { const s = require("net").connect(${port}, "127.0.0.1"); s.on("error", () => {}); s.on("close", again); s.end("GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"); s.resume(); })()'`,
    );
    await expect.poll(() => egress.session.connections().length, { timeout: 60_000 }).toBeGreaterThan(500);
    const client = connectTls({
      port: site.port,
      host: "127.0.0.1",
      ca: site.authority.certificate,
      servername: "web.test",
    });
    client.end("GET / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n");
    const [answer] = await once(client, "data");
    expect(String(answer)).toContain("200");
  });
});
