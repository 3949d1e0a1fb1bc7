/** Bodies of strangers, with Node's own server and clients that write as they like. */
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { afterEach, expect, test } from "vitest";
import { createReadBody, type ReadBodyOptions } from "../../src/lib/read-body.ts";

const maxBytes = 1_000_000;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Answers with the length of the body, or why there is none. A client's first header is its network. */
async function serve(limits: Omit<ReadBodyOptions, "ownerOf">): Promise<number> {
  const readBody = createReadBody({ ownerOf: (context) => context.req.header("network") ?? "", ...limits });
  const app = new Hono();
  app.post("/", async (context) => {
    const body = await readBody(context, maxBytes);
    return Buffer.isBuffer(body) ? context.text(`${body.length}`) : context.text(body.reason, body.status);
  });
  const server: Server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Client {
  socket: Socket;
  /** What has come back. */
  answer(): string;
  isClosed(): boolean;
}

async function send(port: number, network: string, length: number | "chunked", body: string): Promise<Client> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  let [answer, isClosed] = ["", false];
  socket.on("data", (piece) => {
    answer += piece;
  });
  socket.on("close", () => {
    isClosed = true;
  });
  const framing = length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  const head = `POST / HTTP/1.1\r\nHost: x\r\nNetwork: ${network}\r\n${framing}\r\n\r\n`;
  await new Promise<void>((resolve) => socket.write(head + body, () => resolve()));
  return { socket, answer: () => answer, isClosed: () => isClosed };
}

const sendWhole = (port: number, network: string) => send(port, network, 5, "whole");

test("a body that does not end in time is refused, and its connection closed", async () => {
  const port = await serve({ maxMs: 50 });
  const slow = await send(port, "a", 10, "slow");
  await expect.poll(slow.isClosed).toBe(true);
  expect(slow.answer()).toMatch(/^HTTP\/1\.1 408 [\s\S]*it took more than 0\.05 s$/);
});

test("above the number of unfinished bodies, the oldest of the network with the most is refused, and a new one is read", async () => {
  const port = await serve({ maxBodies: 3 });
  const quiet = await send(port, "quiet", 10, "x");
  const flood = [await send(port, "flood", 10, "x"), await send(port, "flood", 10, "x")];
  const more = await send(port, "flood", 10, "x");
  await expect.poll(() => flood[0]?.answer()).toContain("503");
  expect([quiet, flood[1], more].map((client) => client?.answer())).toEqual(["", "", ""]);
  const late = await send(port, "other", 10, "x");
  await expect.poll(() => flood[1]?.answer()).toContain("503");
  for (const client of [quiet, more, late]) {
    client.socket.write("123456789");
    await expect.poll(client.answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*10$/);
  }
});

test("a body that is there as a whole is read, however many are unfinished", async () => {
  const port = await serve({ maxBodies: 1 });
  const unfinished = await send(port, "a", 10, "x");
  const whole = await sendWhole(port, "b");
  await expect.poll(whole.answer).toContain("200 OK");
  expect(unfinished.answer()).toBe("");
});

test("above the bytes of all unfinished bodies, the network with the most bytes loses its oldest", async () => {
  const port = await serve({ maxTotalBytes: 1_000_000 });
  const small = await send(port, "small", 10, "x");
  const large = await send(port, "large", 600_001, "x".repeat(600_000));
  const larger = await send(port, "larger", 500_001, "x".repeat(500_000));
  await expect.poll(() => [large, larger].filter(({ answer }) => answer().includes("503")).length).toBe(1);
  small.socket.write("123456789");
  await expect.poll(small.answer).toContain("200 OK");
});

test.each([
  ["announced", 2_000_000, ""],
  ["in pieces", "chunked", `${(1_000_001).toString(16)}\r\n${"x".repeat(1_000_001)}\r\n`],
] as const)("a body that is too long is refused: %s", async (_, length, body) => {
  const client = await send(await serve({}), "a", length, body);
  await expect.poll(client.answer).toContain("413");
});

test("a body of many pieces of one byte is read like any other, in as much memory", async () => {
  const pieces = 20_000;
  const client = await send(await serve({ maxTotalBytes: 64 * 1024 }), "a", "chunked", "1\r\nx\r\n".repeat(pieces));
  client.socket.write("0\r\n\r\n");
  await expect.poll(client.answer).toMatch(new RegExp(`200 OK[\\s\\S]*${pieces}$`));
});

test("a body that breaks off gives its place back", async () => {
  const port = await serve({ maxBodies: 1 });
  const [first, second] = [await send(port, "a", 10, "x"), await send(port, "b", 10, "x")];
  first.socket.destroy();
  await expect.poll(first.isClosed).toBe(true);
  second.socket.write("123456789");
  await expect.poll(second.answer).toContain("200 OK");
});
