/** Strangers and too many open pages must not affect health checks or people, even if the server listens on all addresses. */
import { writeFile } from "node:fs/promises";
import { type ClientRequest, request } from "node:http";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandHere } from "../cli/remora-here.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const megabyte = 1024 * 1024;
let home: RemoraHome;
let remora: RunningRemora;
let slack: SlackDouble;

async function start(): Promise<void> {
  const config = join(home.data, "..", "remora.yaml");
  const web = { host: "0.0.0.0", publicUrl: "https://remora.example.com", trustedProxies: ["127.0.0.1"] };
  await writeFile(config, JSON.stringify({ web }));
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

interface Asked {
  status: number;
  text: string;
  cookies: string[];
}

const requests = new Set<ClientRequest>();

/** As Node's own client, which lets a test say any Host. */
function ask(address: string, path: string, method = "GET", given: Record<string, string> = {}, body = "") {
  const { port } = new URL(remora.url);
  const headers = { host: `127.0.0.1:${port}`, ...given };
  return new Promise<Asked>((resolve, reject) => {
    const sent = request({ host: address, port, path, method, headers });
    requests.add(sent);
    sent.once("close", () => requests.delete(sent));
    sent.on("response", async (answer) => {
      const text = Buffer.concat(await answer.toArray()).toString();
      resolve({ status: answer.statusCode ?? 0, text, cookies: answer.headers["set-cookie"] ?? [] });
    });
    sent.on("error", reject);
    sent.end(body);
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
    // A closed connection gives back its memory a moment later, and all bodies end after 5 s.
    await expect.poll(() => heldBytes() - before, { timeout: 2_000 }).toBeLessThan(64 * megabyte);
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

/** What a stranger may send who has captured a signed request. */
function replaysOf(
  headers: Record<string, string>,
  body: string,
): { headers: Record<string, string | string[]>; body: Buffer }[] {
  const signature = headers["x-slack-signature"] ?? "";
  const timestamp = headers["x-slack-request-timestamp"] ?? "";
  const bytes = Buffer.from(body);
  const signed = (given: string | string[], at: string | string[] = timestamp) => ({
    headers: { ...headers, "x-slack-signature": given, "x-slack-request-timestamp": at },
    body: bytes,
  });
  return [
    signed(signature),
    signed(`${signature}=x`),
    signed(`${signature}=`),
    signed(`${signature}, ${signature}`),
    signed([signature, signature]),
    signed(signature.replace(/[a-f]/g, (digit) => digit.toUpperCase())),
    signed(signature.toUpperCase()),
    ...[
      `+${timestamp}`,
      `0${timestamp}`,
      `${timestamp}.0`,
      `${timestamp}e0`,
      `0x${Number(timestamp).toString(16)}`,
    ].map((at) => signed(signature, at)),
    signed(signature, [timestamp, timestamp]),
    ...[Buffer.from("\uFEFF"), Buffer.from([0xff])].map((extra) => ({ headers, body: Buffer.concat([extra, bytes]) })),
    { headers: { ...headers, "content-type": "application/json" }, body: bytes },
    { headers: { ...headers, "content-type": "application/x-www-form-urlencoded; charset=utf-16" }, body: bytes },
    { headers: { ...headers, "content-encoding": "gzip" }, body: bytes },
    { headers: { ...headers, "transfer-encoding": "chunked" }, body: bytes },
    { headers: { ...headers, "x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout" }, body: bytes },
  ];
}

function sendBytes({ headers, body }: { headers: Record<string, string | string[]>; body: Buffer }): Promise<number> {
  return new Promise((resolve, reject) => {
    const sending = request(
      new URL("/slack/events", remora.url),
      { method: "POST", headers, agent: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    sending.on("error", reject);
    sending.end(body);
  });
}

test("a captured command runs once, whatever a stranger changes about its headers and bytes, and after a restart", async () => {
  const fields = {
    ...{
      command: "/remora",
      text: "ask how do replays end?",
      trigger_id: "1.2.3",
      response_url: `${slack.state.url}/x`,
    },
    ...{ user_id: slack.ann.id, channel_id: slack.general.id, team_id: slack.state.team.id },
  };
  const contentType = "application/x-www-form-urlencoded" as const;
  const body = new URLSearchParams(fields).toString();
  const asked = () =>
    slack.callsOf("chat.postMessage").filter(({ args }) => JSON.stringify(args).includes("do replays end"));
  const answers = () => asked().filter(({ args }) => JSON.stringify(args).includes("asks: "));
  expect(await slack.http.sendRaw({ body, contentType })).toMatchObject({ status: 200 });
  await expect.poll(() => answers().length).toBe(1);
  const { headers = {} } = slack.http.log.find((sent) => sent.body === body) ?? {};
  const replays = replaysOf(headers, body);
  for (const replay of replays) expect([200, 400, 401]).toContain(await sendBytes(replay));
  await remora.stop();
  await start();
  for (const replay of replays) expect([200, 400, 401]).toContain(await sendBytes(replay));
  // A later command shows that earlier ones would have run by now.
  const later = body.replace("how+do+replays+end", "and+later+ones");
  expect(await slack.http.sendRaw({ body: later, contentType })).toMatchObject({ status: 200 });
  await expect
    .poll(
      () => slack.callsOf("chat.postMessage").filter(({ args }) => JSON.stringify(args).includes("later ones")).length,
    )
    .toBeGreaterThan(0);
  expect(answers()).toHaveLength(1);
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
  // Nobody reads these: HEAD has no body, and answers of one connection come one after the other.
  const { port } = new URL(remora.url);
  const bearer = { authorization: `Bearer ${remora.token}` };
  const unread = Array.from({ length: 120 }, () => ask("127.0.0.1", "/local/api/events?person=you", "HEAD", bearer));
  await Promise.all(unread);
  const pipelined = connect(Number(port), "127.0.0.1");
  const head = `GET /local/api/events?person=you HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${bearer.authorization}\r\n\r\n`;
  pipelined.write(head.repeat(120));
  await new Promise((first) => pipelined.once("data", first).once("close", first));
  pipelined.destroy();
  const last = new AbortController();
  await expect.poll(() => open(last), { timeout: 10_000 }).toBe(200);
  last.abort();
});

test("under a flood of wrong passwords from everywhere, the right one signs in, and those who have signed in don't wait", async () => {
  const own = { REMORA_WORKSPACE: home.workspace, REMORA_DATA: home.data, REMORA_ENV_FILE: "/dev/null" };
  const password = "correct horse battery";
  const added = await commandHere(own, ["accounts", "add", "ann", "--role", "viewer"], `${password}\n`);
  expect(added.stderr).toBe("");
  const origin = "https://remora.example.com";
  const signIn = async (from: string, given: string, cookie = "") => {
    const headers = {
      host: new URL(origin).host,
      origin,
      cookie,
      "x-forwarded-proto": "https",
      "x-forwarded-for": from,
    };
    const form = { ...headers, "content-type": "application/x-www-form-urlencoded" };
    return await ask("127.0.0.1", "/sign-in/password", "POST", form, `name=ann&password=${given}`);
  };
  const places = [
    (index: number) => `2001:db8:${index.toString(16)}::1`,
    (index: number) => `2001:db8:1:${index.toString(16)}::1`,
    (index: number) => `10.${index % 256}.9.9`,
  ];
  const seen = new Map<number, number>();
  let isOver = false;
  const connections = Array.from({ length: 8 }, async (_, connection) => {
    for (let index = connection + 1; !isOver; index += 8) {
      const { status } = await signIn(places[index % 3]?.(index) ?? "", "a wrong password");
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
  });
  await expect.poll(() => seen.get(401) ?? 0).toBeGreaterThan(32);
  const first = await signIn("203.0.113.9", password);
  expect([first.status, first.cookies.length]).toEqual([303, 2]);
  expect((await signIn("2001:db9::9", password)).status).toBe(303);
  const guessed = seen.get(401) ?? 0;
  const device = first.cookies[0]?.split(";", 1)[0];
  for (let count = 0; count < 3; count++) {
    expect((await signIn("203.0.113.9", password)).status).toBe(303);
    expect((await signIn("10.1.9.9", password, device)).status).toBe(303);
  }
  // In the end, they go away.
  isOver = true;
  requests.forEach((sent) => void sent.destroy());
  await Promise.allSettled(connections);
  expect((await signIn("198.51.100.7", password)).status).toBe(303);
  // Two a second by then, so the six sign-ins did not wait for them.
  expect((seen.get(401) ?? 0) - guessed).toBeLessThan(20);
  expect([...seen.keys()]).toEqual([401]);
});

test("a request from elsewhere is from elsewhere, whatever Host it names: no metrics, no readiness, no token, no sign-in", async () => {
  const { port } = new URL(remora.url);
  const elsewhere = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const own = elsewhere.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);
  expect(own).not.toEqual([]);
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
