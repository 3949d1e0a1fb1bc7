/** A form's files as bytes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { expect, test } from "vitest";
import { packForm } from "../../src/lib/pack-form.ts";

// Replaces `Response`, as the web server does in the real process.
getRequestListener(() => new Response());

const uploads = 150;
const longestMs = 6;

test("a request that is aborted while it sends a form's files leaves no rejection behind", async () => {
  const server = createServer((request) => void request.on("error", () => {}).resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const unhandled: unknown[] = [];
  const note = (thrown: unknown) => void unhandled.push(thrown);
  process.on("unhandledRejection", note);
  const file = new File([Buffer.alloc(2_000_000)], "speech.ogg");
  for (let number = 0; number < uploads; number += 1) {
    const form = new FormData();
    form.set("file", file);
    const stop = new AbortController();
    const sent = packForm({ method: "POST", signal: stop.signal }, form).then((init) => fetch(url, init));
    const until = performance.now() + (number % 30) * (longestMs / 30);
    while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await expect(sent).rejects.toThrow();
  }
  // Node reports them in the turn after the one of the rejection.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  server.closeAllConnections();
  server.close();
  expect(unhandled).toEqual([]);
});

test("the form arrives whole, with its other headers", async () => {
  const form = new FormData();
  form.set("model", "whisper");
  form.set("file", new File(["words"], "speech.ogg", { type: "audio/ogg" }));
  const { body, headers, method } = await packForm({ method: "POST", headers: { authorization: "Bearer k" } }, form);
  const read = await new Response(body, { headers: headers as Headers }).formData();
  expect([method, new Headers(headers).get("authorization"), read.get("model")]).toEqual([
    "POST",
    "Bearer k",
    "whisper",
  ]);
  expect(await (read.get("file") as File).text()).toBe("words");
});
