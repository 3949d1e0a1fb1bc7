/** Only the process that was just started can say that it is ready. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { markRun } from "../../src/health/last-run.ts";
import { waitUntilReady } from "../../src/health/wait-until-ready.ts";

let data: string;
let server: Server;
let answer: { status: number; text: string };

beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), "remora-ready-"));
  answer = { status: 503, text: "starting\n" };
  server = createServer((_request, response) => response.writeHead(answer.status).end(answer.text));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
});
afterEach(async () => {
  await new Promise((closed) => server.close(closed));
  await rm(data, { recursive: true });
});

const since = 1_000;
const mark = (startedAt: number) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  markRun(data, { pid: process.pid, startedAt, url });
};
const wait = (maxMs: number) => waitUntilReady({ data, since, maxMs, isKnown: (line) => line.startsWith("slack: ") });

test("waits until the process is ready", async () => {
  const waiting = wait(60_000);
  mark(since);
  answer = { status: 200, text: "ready\n" };
  expect(await waiting).toBeUndefined();
});

test("says what is wrong, without what was wrong before", async () => {
  mark(since);
  answer.text = "slack: token_revoked\nmodel a/b: the key was refused\n";
  expect(await wait(1)).toEqual(["model a/b: the key was refused"]);
  answer.text = "slack: token_revoked\n";
  expect(await wait(1)).toBeUndefined();
});

test("a process that ran before does not count", async () => {
  answer.status = 200;
  mark(since - 1);
  expect(await wait(1)).toEqual(["it did not start"]);
});
