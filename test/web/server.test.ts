import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { type Log, silentLog } from "../../src/lib/log.ts";
import { addressBlock } from "../../src/web/client.ts";
import { createMetrics } from "../../src/web/metrics.ts";
import { createWebServer, type WebServer } from "../../src/web/server.ts";

const token = "a-token-for-this-test";
let readiness = { isReady: true, detail: "ready" };
let server: WebServer;
let url: string;
let port: number;

function createServer(atPort = 0, log: Log = silentLog): WebServer {
  const metrics = createMetrics(createEvents());
  return createWebServer({ host: "127.0.0.1", port: atPort, token, readiness: () => readiness, metrics, log });
}

beforeEach(async () => {
  readiness = { isReady: true, detail: "ready" };
  server = createServer();
  server.app.get("/secret", (context) => context.text("the secret"));
  server.app.post("/change", (context) => context.text("changed"));
  ({ url, port } = await server.start());
});
afterEach(() => server.close());

/** As Node's own client, which lets a test say any Host. */
function ask(path: string, headers: Record<string, string>, method = "GET"): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

const asProgram = { authorization: `Bearer ${token}` };

async function signedInCookie(): Promise<string> {
  const response = await fetch(`${url}/?token=${token}`, { redirect: "manual" });
  return response.headers.get("set-cookie")?.split(";")[0] ?? "";
}

describe("who gets in", () => {
  test("without a token the answer says how to come by one, and nothing else", async () => {
    const response = await fetch(`${url}/secret`);
    expect(response.status).toBe(401);
    expect(await response.text()).toMatch(/^This page needs a token\. Open the link that Remora printed/);
  });

  test("a path that does not exist needs the token as well", async () => {
    expect((await fetch(`${url}/nothing`)).status).toBe(401);
    expect((await fetch(`${url}/nothing`, { headers: asProgram })).status).toBe(404);
  });

  test.each(["", "wrong", `${token}x`, token.slice(1)])("the wrong token %j is refused everywhere", async (wrong) => {
    expect((await fetch(`${url}/secret?token=${wrong}`, { redirect: "manual" })).status).toBe(403);
    const bearer = await ask("/secret", { host: `127.0.0.1:${port}`, authorization: `Bearer ${wrong}` });
    expect(bearer.status).not.toBe(200);
    const cookie = await fetch(`${url}/secret`, { headers: { cookie: `remora_${port}=${wrong}` } });
    expect(cookie.status).toBe(403);
    expect(await cookie.text()).toContain("This token is wrong");
  });

  test("the printed link sets a cookie that scripts and other sites can't use, and takes the token out of the address", async () => {
    const response = await fetch(`${url}/dashboard?token=${token}&tab=turns`, { redirect: "manual" });
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe("/dashboard?tab=turns");
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).toContain("HttpOnly");
    expect(cookie).toContain("SameSite=Strict");
    const again = await fetch(`${url}/secret`, { headers: { cookie: cookie.split(";")[0] ?? "" } });
    expect(await again.text()).toBe("the secret");
  });

  test("the link can't be made to lead elsewhere", async () => {
    const { status } = await ask(`//evil.example/?token=${token}`, { host: `127.0.0.1:${port}` });
    expect(status).toBe(303);
    const response = await fetch(`${url}//evil.example/?token=${token}`, { redirect: "manual" });
    expect(response.headers.get("location")).toBe("/evil.example/");
  });

  test("a bearer header is enough for a program", async () => {
    expect(await (await fetch(`${url}/secret`, { headers: asProgram })).text()).toBe("the secret");
  });

  test("another name for this address is refused, token or not", async () => {
    for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${port + 1}`]) {
      const { status, text } = await ask("/secret", { host, ...asProgram });
      expect([host, status]).toEqual([host, 403]);
      expect(text).toContain(`127.0.0.1:${port}`);
    }
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
      expect((await ask("/secret", { host, ...asProgram })).status).toBe(200);
    }
  });

  test("a change from another site's page is refused, with the cookie and with the token", async () => {
    const host = `127.0.0.1:${port}`;
    const cookie = await signedInCookie();
    for (const origin of ["https://evil.example", `http://localhost:${port}`, `https://127.0.0.1:${port}`, "null"]) {
      expect((await ask("/change", { host, cookie, origin }, "POST")).status).toBe(403);
      expect((await ask("/change", { host, ...asProgram, origin }, "POST")).status).toBe(403);
    }
    expect((await ask("/change", { host, cookie }, "POST")).status).toBe(403);
    expect((await ask("/change", { host, cookie, origin: `http://${host}` }, "POST")).text).toBe("changed");
    expect((await ask("/change", { host, ...asProgram }, "POST")).text).toBe("changed");
  });
});

test("every answer forbids inline scripts, sniffing, referrers and frames", async () => {
  for (const path of ["/secret", "/nothing", "/healthz"]) {
    const { headers } = await fetch(url + path, { headers: asProgram });
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  }
});

test("health, readiness and metrics are answered without a token", async () => {
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  readiness = { isReady: false, detail: "slack is not connected" };
  const notReady = await fetch(`${url}/readyz`);
  expect([notReady.status, await notReady.text()]).toEqual([503, "slack is not connected\n"]);
  expect(await (await fetch(`${url}/metrics`)).text()).toContain("process_resident_memory_bytes");
});

test("a port in use is named, with the setting that changes it", async () => {
  await expect(createServer(port).start()).rejects.toMatchObject({
    code: "web.port-in-use",
    message: expect.stringMatching(new RegExp(`port ${port} is taken.*REMORA_PORT=${port + 1}`)),
  });
});

test("a handler that throws is logged and tells nothing of the inside", async () => {
  const logged: object[] = [];
  const broken = createServer(0, { ...silentLog, error: (fields) => logged.push(fields) });
  broken.app.get("/broken", () => {
    throw new Error("the inside");
  });
  const { url: at } = await broken.start();
  const response = await fetch(`${at}/broken`, { headers: asProgram });
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("the inside");
  expect(logged).toMatchObject([{ path: "/broken", error: "the inside" }]);
  await broken.close();
});

test("closing cuts a stream that never ends, and can be called twice", async () => {
  server.app.get("/endless", (context) => context.body(new ReadableStream({ start: (sink) => sink.enqueue("first") })));
  const response = await fetch(`${url}/endless`, { headers: asProgram });
  const reader = response.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("first");
  const cut = expect(reader?.read()).rejects.toThrow();
  await server.close();
  await cut;
  await server.close();
});

describe("connections", () => {
  test.each([
    ["203.0.113.9", "203.0.113.0/24"],
    ["::ffff:203.0.113.200", "203.0.113.0/24"],
    ["2001:db8:1:2::3", "2001:db8:1::/48"],
    ["2001:db8:1:ffff:1:2:3:4", "2001:db8:1::/48"],
    ["::1", "0:0:0::/48"],
    [undefined, "unknown"],
  ])("%s counts for the network %s", (address, network) => {
    expect(addressBlock(address)).toBe(network);
  });

  test("a connection that asks for hundreds of answers at once, and reads none, ends", async () => {
    const ask = (count: number) => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`.repeat(count));
      return { socket, closed };
    };
    await ask(300).closed;
    const few = ask(20);
    let text = "";
    few.socket.on("data", (data) => (text += data));
    await expect.poll(() => text.match(/200 OK/g)?.length).toBe(20);
    few.socket.destroy();
  });

  test("of 600 that say nothing, the oldest are closed, and a request and one under way are answered", async () => {
    let open = (): void => {};
    server.app.get("/long", async (context) => {
      await new Promise<void>((resolve) => {
        open = resolve;
      });
      return context.text("after a while");
    });
    const long = fetch(`${url}/long`, { headers: asProgram });
    const silent = Array.from({ length: 600 }, () =>
      connect(port, "127.0.0.1")
        .on("error", () => {})
        .resume(),
    );
    try {
      await expect
        .poll(() => silent.filter((socket) => socket.destroyed).length, { timeout: 10_000 })
        .toBeGreaterThan(80);
      expect(silent.slice(-400).some((socket) => socket.destroyed)).toBe(false);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      open();
      expect(await (await long).text()).toBe("after a while");
    } finally {
      for (const socket of silent) socket.destroy();
    }
  });
});

test("HEAD ends what GET would stream, and a client that takes nothing of an answer loses its connection after half a minute", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  const own = createServer();
  let open = 0;
  own.app.get("/endless", (context) => {
    open += 1;
    const cancel = () => {
      open -= 1;
    };
    const pull = (sink: ReadableStreamDefaultController) => sink.enqueue(new Uint8Array(65_536));
    return context.body(new ReadableStream({ pull, cancel }));
  });
  const { port: at } = await own.start();
  const { status } = await fetch(`http://127.0.0.1:${at}/endless`, { method: "HEAD", headers: asProgram });
  expect([status, open]).toEqual([200, 0]);
  const [taking, stalled] = await Promise.all(
    [true, false].map(async (isTaking) => {
      const asked = request({ host: "127.0.0.1", port: at, path: "/endless", headers: asProgram, agent: false });
      asked.on("error", () => {});
      asked.end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      answer.on("error", () => {});
      if (isTaking) answer.resume();
      return { asked, answer };
    }),
  );
  expect(open).toBe(2);
  for (let seconds = 0; seconds < 40; seconds += 5) {
    const was = taking?.answer.socket.bytesRead ?? 0;
    await vi.waitFor(() => expect(taking?.answer.socket.bytesRead).toBeGreaterThan(was + 65_536));
    vi.advanceTimersByTime(5_000);
  }
  await vi.waitFor(() => expect(open).toBe(1));
  expect([taking?.asked.destroyed, stalled?.answer.complete]).toEqual([false, false]);
  taking?.asked.destroy();
  await vi.waitFor(() => expect(open).toBe(0));
  vi.useRealTimers();
  await own.close();
});
