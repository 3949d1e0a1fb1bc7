/** The mcp skill with servers behind an address: streamable HTTP, and the older way with server-sent events. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type HttpServerOptions, type HttpTestServer, startHttpServer } from "../doubles/mcp-server-http.ts";
import { openMcp } from "./mcp-agent.ts";

async function start(options: HttpServerOptions = {}): Promise<HttpTestServer> {
  const server = await startHttpServer(options);
  onTestFinished(() => server.close());
  return server;
}

describe.each(["streamable", "events"] as const)("a server of the kind %s", (kind) => {
  test("is found out by itself; its tools run, change and send files", async () => {
    const { url } = await start({ kind });
    const { until, run, problems } = await openMcp({ web: { url } });
    await until("web_echo");
    expect(await run("web_echo", { text: "hi" })).toMatchObject({ isOk: true, text: 'echo {"text":"hi"}' });
    expect((await run("web_everything")).files).toHaveLength(3);
    await run("web_rename");
    await until("web_renamed-1");
    expect(problems()).toEqual([]);
  });

  test("that was restarted is connected again, and what can't have reached it may be tried again", async () => {
    const first = await start({ kind });
    const { until, run, names, problems } = await openMcp({ web: { url: first.url } });
    await until("web_echo");
    await first.close();
    await run("web_echo");
    await vi.waitFor(() => expect(problems()).toHaveLength(1), { timeout: 10_000 });
    expect(names()).toContain("web_echo");
    expect(await run("web_echo")).toMatchObject({ isOk: false });
    await start({ kind, port: first.port });
    await vi.waitFor(async () => expect(await run("web_echo")).toMatchObject({ isOk: true }), { timeout: 10_000 });
    await vi.waitFor(() => expect(problems()).toEqual([]));
  });

  test("whose answer has no end is cut off, and the next one works", async () => {
    const { url } = await start({ kind });
    const { until, run } = await openMcp({ web: { url } });
    await until("web_endless");
    expect(await run("web_endless")).toMatchObject({ isOk: false, text: expect.stringContaining("may or may not") });
    await vi.waitFor(async () => expect(await run("web_echo")).toMatchObject({ isOk: true }), { timeout: 10_000 });
  });
});

test("a session that the server has forgotten is opened anew, and the call may be tried again", async () => {
  let isForgetful = false;
  const { url } = await start({
    instead(request, response) {
      const forgets = isForgetful && request.method === "POST" && request.headers["mcp-session-id"] !== undefined;
      if (forgets) response.writeHead(404).end();
      return forgets;
    },
  });
  const { until, run } = await openMcp({ web: { url } });
  await until("web_echo");
  isForgetful = true;
  expect(await run("web_echo")).toMatchObject({ isOk: false, isRetryable: true });
  isForgetful = false;
  await vi.waitFor(async () => expect(await run("web_echo")).toMatchObject({ isOk: true }), { timeout: 10_000 });
});

test("headers of the settings go to the server, and to no other place that it sends us to", async () => {
  const elsewhere = await start();
  const authorization = "Bearer very-secret";
  const { url, headers } = await start({ authorization });
  const sender = await start({
    instead(_request, response) {
      response.writeHead(307, { location: elsewhere.url }).end();
      return true;
    },
  });
  const wrong = { url, headers: { Authorization: "Bearer other" } };
  const servers = {
    good: { url, headers: { Authorization: authorization } },
    wrong,
    sent: { url: sender.url, headers: { authorization } },
  };
  const { until, problems } = await openMcp(servers);
  await until("good_echo");
  expect(headers.at(-1)?.authorization).toMatch(/^Bearer (?:very-secret|other)$/);
  await vi.waitFor(() => expect(problems()).toHaveLength(2), { timeout: 10_000 });
  expect(problems()).toEqual([
    expect.stringMatching(/^sent is not connected: /),
    expect.stringMatching(/^wrong is not connected: .*401/),
  ]);
  expect(problems().join()).not.toContain("secret");
  expect(elsewhere.headers).toEqual([]);
});

test("an address where nobody listens is a finding, and the settings may insist on one kind", async () => {
  const gone = await start();
  await gone.close();
  const { url } = await start({ kind: "events" });
  const { problems } = await openMcp({ gone: { url: gone.url }, wrong: { url, type: "http" } });
  await vi.waitFor(() => expect(problems()).toHaveLength(2), { timeout: 10_000 });
  expect(problems()).toEqual([
    expect.stringMatching(/^gone is not connected: .*ECONNREFUSED/),
    expect.stringMatching(/^wrong is not connected: /),
  ]);
});
