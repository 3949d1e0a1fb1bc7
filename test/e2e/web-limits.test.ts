/** Strangers and too many open pages must not affect health checks or people, even if the server listens on all addresses. */
import { writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const megabyte = 1024 * 1024;
let home: RemoraHome;
let remora: RunningRemora;
let slack: SlackDouble;

async function start(): Promise<void> {
  const config = join(home.data, "..", "remora.yaml");
  await writeFile(config, JSON.stringify({ web: { host: "0.0.0.0" } }));
  remora = await startRemora(home, {
    REMORA_CONFIG: config,
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_SIGNING_SECRET: slack.signingSecret,
    SLACK_API_URL: slack.apiUrl,
  });
  slack.http.target = `${remora.url}/slack/events`;
}

beforeAll(async () => {
  slack = await createSlackDouble();
  home = await createHome();
  await start();
});
afterAll(async () => {
  await remora.stop();
  await slack.stop();
  await home.remove();
});

/** The status, and how much of the body had been sent by then. */
function send(bytes: number, isChunked: boolean): Promise<{ status: number; sent: number }> {
  return new Promise((resolve, reject) => {
    let sent = 0;
    const headers = isChunked ? {} : { "content-length": bytes };
    const sending = request(new URL("/slack/events", remora.url), { method: "POST", headers }, (answer) => {
      resolve({ status: answer.statusCode ?? 0, sent });
      answer.resume();
      sending.destroy();
    });
    sending.on("error", reject);
    const piece = Buffer.alloc(64 * 1024, "x");
    const go = (): void => {
      if (sending.destroyed) return;
      if (sent >= bytes) return void sending.end();
      sent += piece.length;
      if (sending.write(piece)) setImmediate(go);
      else sending.once("drain", go);
    };
    go();
  });
}

test("an unsigned 5 MB body to Slack's address gets a 413 without an error in the process", async () => {
  expect(await send(5 * megabyte, false)).toMatchObject({ status: 413 });
  expect(remora.stderr()).not.toContain("a web request failed");
});

test("an unsigned body without a length is refused unread", async () => {
  const { status, sent } = await send(64 * megabyte, true);
  expect(status).toBe(401);
  expect(sent).toBeLessThan(64 * megabyte);
});

/** As many bodies as `count`, each of which lacks its last byte. Resolves to the connections. */
async function sendUnfinished(count: number, path: string): Promise<Socket[]> {
  const { hostname, port, host } = new URL(remora.url);
  const body = Buffer.alloc(megabyte - 1, "x");
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    `Origin: ${remora.url}`,
    "Content-Type: application/x-www-form-urlencoded",
    `X-Slack-Request-Timestamp: ${Math.floor(Date.now() / 1000)}`,
    `X-Slack-Signature: v0=${"0".repeat(64)}`,
  ];
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname);
    // Sign-in takes small forms only.
    const length = path.startsWith("/slack") ? megabyte : 8_000;
    socket.write(`${[...head, `Content-Length: ${length}`].join("\r\n")}\r\n\r\n`);
    socket.write(body.subarray(0, length - 1));
    return socket.on("error", () => {}).resume();
  });
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve).once("close", resolve))),
  );
  return sockets;
}

/** Bytes outside of the heap, without those that nobody holds any more. */
function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().arrayBuffers;
}

const isOpen = (socket: Socket) => !socket.destroyed;

test("480 unfinished bodies take little memory and few connections, and signed requests and sign-ins among them are answered", async () => {
  const before = heldBytes();
  const sockets = (
    await Promise.all([sendUnfinished(240, "/slack/events"), sendUnfinished(240, "/sign-in/password")])
  ).flat();
  try {
    await expect.poll(() => sockets.filter(isOpen).length, { timeout: 10_000 }).toBeLessThan(200);
    expect(heldBytes() - before).toBeLessThan(64 * megabyte);
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora amid a flood" });
    await said.acknowledged();
    const form = new URLSearchParams({ name: "nobody", password: "a wrong password" });
    const headers = { origin: remora.url };
    const signIn = await fetch(new URL("/sign-in/password", remora.url), { method: "POST", body: form, headers });
    expect(await signIn.text()).toContain("The name or the password is wrong.");
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test("event streams are limited, health checks still answer, and a closed stream frees its place", async () => {
  const streams = Array.from({ length: 130 }, () => new AbortController());
  const answers: Response[] = [];
  const open = async ({ signal }: AbortController) => {
    const headers = { authorization: `Bearer ${remora.token}` };
    const answer = await fetch(new URL("/local/api/events?person=you", remora.url), { headers, signal });
    // An answer that is collected as garbage closes its stream.
    answers.push(answer);
    return answer.status;
  };
  const statuses = await Promise.all(streams.map(open));
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(statuses.filter((status) => status === 429)).toHaveLength(30);
  expect((await fetch(new URL("/healthz", remora.url))).status).toBe(200);
  for (const stream of streams) stream.abort();
  const last = new AbortController();
  await expect.poll(() => open(last), { timeout: 10_000 }).toBe(200);
  last.abort();
});

test("a request from elsewhere is from elsewhere, whatever Host it names: no metrics, no readiness, no token, no sign-in", async () => {
  const { port } = new URL(remora.url);
  const elsewhere = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const own = elsewhere.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);
  expect(own).not.toEqual([]);
  const ask = (address: string, path: string, method = "GET", headers: Record<string, string> = {}) =>
    new Promise<{ status: number; text: string; cookies: string[] }>((resolve, reject) => {
      const sent = request({ host: address, port, path, method, headers: { host: `127.0.0.1:${port}`, ...headers } });
      sent.on("response", async (answer) => {
        const text = Buffer.concat(await answer.toArray()).toString();
        resolve({ status: answer.statusCode ?? 0, text, cookies: answer.headers["set-cookie"] ?? [] });
      });
      sent.on("error", reject);
      sent.end();
    });
  const bearer = { authorization: `Bearer ${remora.token}` };
  for (const address of own.filter((one) => one.includes(".")))
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `${address}:${port}`]) {
      for (const path of ["/metrics", "/readyz", `/?token=${remora.token}`, "/sign-in", "/local/api/state"])
        expect(await ask(address, path, "GET", { host, ...bearer }), `${host}${path}`).toMatchObject({
          ...{ status: 403, cookies: [], text: expect.not.stringContaining("ready") },
        });
      expect(await ask(address, "/healthz", "GET", { host })).toMatchObject({ status: 200, text: "ok\n" });
      expect((await ask(address, "/sign-in/password", "POST", { host, origin: `http://${host}` })).status).toBe(403);
    }
  for (const address of ["127.0.0.1", "127.9.8.7"])
    for (const path of ["/metrics", "/readyz", "/local/api/state"])
      expect((await ask(address, path, "GET", bearer)).status, address + path).toBe(200);
  expect((await ask("127.0.0.1", "/metrics", "GET", { ...bearer, host: "evil.example" })).status).toBe(403);
  expect((await ask("127.0.0.1", "/metrics", "GET", { "x-client-ip": "203.0.113.9" })).status).toBe(403);
});
