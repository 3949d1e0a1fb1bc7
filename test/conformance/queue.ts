/**
 * The contract of every tool queue: each sentence of `ToolQueue` in src/ports/tool.ts. A killed process is simulated by a queue
 * that is abandoned with its tool hanging, and a new queue on the same ledger.
 */
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ToolAttempt } from "../../src/ports/tool.ts";
import {
  failed,
  harness,
  heard,
  heardOf,
  jobOf,
  never,
  ok,
  open,
  type QueueHarness,
  stateOf,
  useQueue,
  workingFolder,
} from "./queue-world.ts";

export function queueConformance(name: string, createHarness: () => Promise<QueueHarness>): void {
  describe(`${name} keeps the queue's contract`, () => {
    useQueue(createHarness);

    describe("a call", () => {
      test("runs once and returns its result, even if the job is requested again later or elsewhere", async () => {
        const file = { name: "a.txt", path: "/a.txt", mimeType: "text/plain" };
        const images = [{ mimeType: "image/png", base64: "AAAA" }];
        const { queue, runs } = await open(() => ({ ...ok("said"), files: [file], images }));
        const result = await queue.run(jobOf("c1"), never);
        expect(result).toMatchObject({ callId: "c1", name: "tool", status: "ok", text: "said", attempts: 1 });
        expect(result).toMatchObject({ files: [file], images });
        expect(result.durationMs).toBeGreaterThanOrEqual(0);
        expect(await queue.run(jobOf("c1"), never)).toEqual(result);
        const other = await open(() => ok("another"));
        expect(await other.queue.run(jobOf("c1"), never)).toEqual(result);
        expect([runs, other.runs]).toEqual([["c1"], []]);
      });

      test("is shared by two concurrent requests", async () => {
        const { promise, resolve } = Promise.withResolvers<ToolAttempt>();
        const { queue, runs } = await open(() => promise);
        const both = [queue.run(jobOf("c1"), never), queue.run(jobOf("c1"), never)];
        await expect.poll(() => runs).toEqual(["c1"]);
        resolve(ok());
        const [one, other] = await Promise.all(both);
        expect(one).toMatchObject({ status: "ok" });
        expect(other).toEqual(one);
        expect(runs).toEqual(["c1"]);
      });

      test("is started in the ledger before its tool runs, and done with its result afterwards", async () => {
        let during: string | undefined;
        const { queue } = await open(async () => {
          during = await stateOf("c1");
          return ok();
        });
        const result = await queue.run(jobOf("c1"), never);
        expect(during).toBe("started");
        expect((await harness.ledger.list("call", { group: "turn" }))[0]).toMatchObject({
          state: "done",
          body: { turnId: "turn", callId: "c1", name: "tool", attempts: 1, result },
        });
      });

      test("emits events with turn, conversation and user", async () => {
        const { queue } = await open(({ name }) => (name === "bad" ? failed("no such thing") : ok()));
        await queue.run(jobOf("c1"), never);
        await queue.run(jobOf("c2", { call: { id: "c2", name: "bad", input: {} } }), never);
        const ids = { turnId: "turn", conversationId: "local:dm:ann", userId: "ann" };
        expect(heardOf("tool.called")[0]).toEqual({ ...ids, callId: "c1", tool: "tool", input: '{"with":"c1"}' });
        expect(heardOf("tool.completed")).toEqual([expect.objectContaining({ ...ids, callId: "c1", attempts: 1 })]);
        expect(heardOf("tool.failed")).toEqual([
          expect.objectContaining({ ...ids, callId: "c2", tool: "bad", status: "failed", message: "no such thing" }),
        ]);
        heard.splice(0);
        await queue.run(jobOf("c1"), never);
        expect(heard).toEqual([]);
      });

      test("fails if the toolbox throws against its contract", async () => {
        const { queue } = await open(() => {
          throw new Error("a bug");
        });
        expect(await queue.run(jobOf("c1"), never)).toMatchObject({ status: "failed", attempts: 1 });
      });
    });

    describe("a failure", () => {
      test("that is temporary is retried after each wait, and is then the result", async () => {
        const { queue } = await open(({ attempt }) => failed(`no ${attempt}`, { isRetryable: true }));
        const result = await queue.run(jobOf("c1"), never);
        expect(result).toMatchObject({ status: "failed", attempts: 4, text: expect.stringContaining("no 4") });
        expect(heardOf("tool.retried").map(({ attempt, waitMs, message }) => [attempt, waitMs, message])).toEqual([
          [2, 1, "no 1"],
          [3, 2, "no 2"],
          [4, 3, "no 3"],
        ]);
        expect(result.durationMs).toBeGreaterThanOrEqual(5);
        expect(heardOf("tool.called")).toHaveLength(1);
        expect(heardOf("tool.failed")).toHaveLength(1);
      });

      test("that goes away becomes a success, with all attempts recorded", async () => {
        const { queue } = await open(({ attempt }) =>
          attempt < 3 ? failed("not yet", { isRetryable: true }) : ok("now"),
        );
        expect(await queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok", text: "now", attempts: 3 });
      });

      test("that is an answer is not retried", async () => {
        const { queue, runs } = await open(() => failed("exit code 1"));
        expect(await queue.run(jobOf("c1"), never)).toMatchObject({
          status: "failed",
          text: "exit code 1",
          attempts: 1,
        });
        expect(runs).toEqual(["c1"]);
      });

      test("of an idempotent tool is always retried", async () => {
        const { queue } = await open(({ attempt }) => (attempt === 1 ? failed("odd") : ok()));
        expect(await queue.run(jobOf("c1", { isIdempotent: true }), never)).toMatchObject({
          status: "ok",
          attempts: 2,
        });
      });

      test("that is the tool's answer is not retried, even for an idempotent tool", async () => {
        const { queue } = await open(() => failed("there is no such file", { isAnswer: true }));
        expect(await queue.run(jobOf("c1", { isIdempotent: true }), never)).toMatchObject({
          status: "failed",
          attempts: 1,
        });
      });

      test("waits as long as the service asks, unless that is too long for people", async () => {
        const { queue } = await open(({ name, attempt }) =>
          attempt === 2 ? ok() : failed("429", { isRetryable: true, retryAfterMs: name === "long" ? 3_600_000 : 40 }),
        );
        await queue.run(jobOf("c1"), never);
        expect(heardOf("tool.retried").map((event) => event.waitMs)).toEqual([40]);
        const other = jobOf("c2", { call: { id: "c2", name: "long", input: {} } });
        const result = await queue.run(other, never);
        expect(result).toMatchObject({ status: "failed", attempts: 1, text: expect.stringContaining("3600 s") });
      });

      test("occupies no slot while it waits", async () => {
        const waits = { backoff: [60_000], concurrency: 1 };
        const { queue } = await open(
          ({ name }) => (name === "bad" ? failed("no", { isRetryable: true }) : ok()),
          waits,
        );
        const abort = new AbortController();
        const waiting = queue.run(jobOf("c1", { call: { id: "c1", name: "bad", input: {} } }), abort.signal);
        await expect.poll(() => stateOf("c1")).toBe("waiting");
        expect(await queue.run(jobOf("c2"), never)).toMatchObject({ status: "ok" });
        expect(queue.counts()).toEqual({ waiting: 1, running: 0 });
        abort.abort();
        await waiting;
      });
    });

    describe("limits", () => {
      test("at most `concurrency` tools run at once, and all of them run", async () => {
        let running = 0;
        let most = 0;
        const attempt = async () => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          return ok();
        };
        const { queue, runs } = await open(attempt, { concurrency: 3 });
        const jobs = Array.from({ length: 20 }, (_, index) => queue.run(jobOf(`c${index}`), never));
        expect((await Promise.all(jobs)).every((result) => result.status === "ok")).toBe(true);
        expect(runs).toHaveLength(20);
        expect(most).toBeLessThanOrEqual(3);
        expect(most).toBeGreaterThan(1);
      });

      test("a long output is cut for the model and saved in full to a file", async () => {
        const long = `begin ${"x".repeat(5_000)} end`;
        const { queue } = await open(() => ok(long), { outputLimit: 1_000 });
        const { text } = await queue.run(jobOf("c1"), never);
        expect(text.length).toBeLessThanOrEqual(1_000);
        expect(text.startsWith("begin")).toBe(true);
        expect(text.endsWith("end")).toBe(true);
        const path = /(?<=\/)outputs\/[\w-]+\.txt/.exec(text)?.[0] ?? "no path in the text";
        expect(await readFile(join(workingFolder, path), "utf8")).toBe(long);
      });

      test("an output within the limit is unchanged, without a file", async () => {
        const { queue } = await open(() => ok("x".repeat(1_000)), { outputLimit: 1_000 });
        expect((await queue.run(jobOf("c1"), never)).text).toBe("x".repeat(1_000));
        await expect(access(join(workingFolder, "outputs"))).rejects.toThrow();
      });
    });

    describe("close", () => {
      test("waits for running calls, releases waiting ones, and accepts nothing new", async () => {
        const { promise, resolve } = Promise.withResolvers<ToolAttempt>();
        const setup = { concurrency: 2, backoff: [60_000] };
        const { queue, runs } = await open(
          ({ attempt }) => (attempt === 1 ? failed("503", { isRetryable: true }) : promise),
          setup,
        );
        const waiting = queue.run(jobOf("waits"), never);
        await expect.poll(() => stateOf("waits")).toBe("waiting");
        const running = queue.run(jobOf("runs"), never);
        await expect.poll(() => runs).toHaveLength(2);
        let isClosed = false;
        const closed = queue.close().then(() => {
          isClosed = true;
        });
        expect(await waiting).toMatchObject({ status: "interrupted" });
        expect(await stateOf("waits")).toBe("waiting");
        expect(await queue.run(jobOf("new"), never)).toMatchObject({ status: "interrupted", attempts: 0 });
        expect(isClosed).toBe(false);
        resolve(ok("to the end"));
        expect(await running).toMatchObject({ status: "ok", text: "to the end" });
        await closed;
        expect(queue.counts()).toEqual({ waiting: 0, running: 0 });
        expect(await stateOf("new")).toBeUndefined();
      });

      test("a failure during close is retried at the next start", async () => {
        const { promise, resolve } = Promise.withResolvers<ToolAttempt>();
        const { queue, runs } = await open(() => promise, { backoff: [1] });
        const running = queue.run(jobOf("c1"), never);
        await expect.poll(() => runs).toHaveLength(1);
        const closed = queue.close();
        resolve(failed("503", { isRetryable: true }));
        await closed;
        expect(await running).toMatchObject({ status: "interrupted", attempts: 1 });
        expect(await stateOf("c1")).toBe("waiting");
        expect(runs).toHaveLength(1);
      });
    });
  });
}
