/** Part of the suite of tool queues: calls that are cut short by a crash, another process, a timeout or an abort. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TurnAbort } from "../../src/lib/abort.ts";
import type { ToolAttempt } from "../../src/ports/tool.ts";
import { runs as inputs } from "../faults/share.ts";
import {
  failed,
  forEver,
  harness,
  heardOf,
  jobOf,
  never,
  ok,
  open,
  type QueueHarness,
  stateOf,
  untilAborted,
  useQueue,
} from "./queue-world.ts";

export function queueInterruptions(name: string, createHarness: () => Promise<QueueHarness>): void {
  describe(`${name} keeps the queue's contract for interrupted calls`, () => {
    useQueue(createHarness);

    describe("a process that dies", () => {
      test("before the call started leaves it to the next process", async () => {
        const { queue, runs } = await open(forEver, { concurrency: 1 });
        void queue.run(jobOf("c0"), never);
        await expect.poll(() => runs).toEqual(["c0"]);
        void queue.run(jobOf("c1"), never);
        await expect.poll(() => stateOf("c1")).toBe("planned");
        const next = await open(() => ok());
        expect(await next.queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok", attempts: 1 });
        expect(runs).toEqual(["c0"]);
      });

      test("while the tool ran leaves an unknown outcome, and the call never runs again", async () => {
        const { queue, runs } = await open(forEver);
        void queue.run(jobOf("c1"), never);
        await expect.poll(() => runs).toEqual(["c1"]);
        const next = await open(() => ok());
        const result = await next.queue.run(jobOf("c1"), never);
        expect(result).toMatchObject({ status: "interrupted", attempts: 1, text: expect.stringContaining("unknown") });
        expect(await stateOf("c1")).toBe("unknown");
        expect(await next.queue.run(jobOf("c1"), never)).toEqual(result);
        expect(next.runs).toEqual([]);
        expect(heardOf("queue.stalled")).toEqual([expect.objectContaining({ jobId: "turn-c1" })]);
        expect(heardOf("tool.failed")).toEqual([expect.objectContaining({ status: "interrupted" })]);
      });

      test("while an idempotent tool ran lets the next process run it again", async () => {
        const { queue, runs } = await open(forEver);
        void queue.run(jobOf("c1", { isIdempotent: true }), never);
        await expect.poll(() => runs).toEqual(["c1"]);
        const next = await open(() => ok("again"));
        expect(await next.queue.run(jobOf("c1", { isIdempotent: true }), never)).toMatchObject({
          status: "ok",
          text: "again",
          attempts: 2,
        });
      });

      test("on every run of an idempotent tool does not cause endless runs", async () => {
        const job = jobOf("c1", { isIdempotent: true });
        const all: string[][] = [];
        for (let start = 0; start < 4; start += 1) {
          const { queue, runs } = await open(forEver);
          all.push(runs);
          void queue.run(job, never);
          await expect.poll(() => runs).toEqual(["c1"]);
        }
        const last = await open(() => ok());
        expect(await last.queue.run(job, never)).toMatchObject({ status: "interrupted", attempts: 4 });
        expect(last.runs).toEqual([]);
      });

      test("during the wait for a retry lets the next process wait and retry", async () => {
        const first = await open(() => failed("503", { isRetryable: true }), { backoff: [2_000, 0, 0] });
        const shutdown = new AbortController();
        const cut = first.queue.run(jobOf("c1"), shutdown.signal);
        await expect.poll(() => stateOf("c1")).toBe("waiting");
        shutdown.abort(new TurnAbort("shutdown"));
        await cut;
        const due = (await harness.ledger.get("call", "turn-c1"))?.body.retryAt ?? Number.POSITIVE_INFINITY;
        let ranAt = 0;
        const next = await open(() => {
          ranAt = Date.now();
          return ok();
        });
        expect(await next.queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok", attempts: 2 });
        // Timers may fire a millisecond early against the wall clock.
        expect(ranAt).toBeGreaterThanOrEqual(due - 2);
      });

      test("during the waits does not reset the count of attempts", async () => {
        const job = jobOf("c1");
        const first = await open(() => failed("503", { isRetryable: true }), { backoff: [1, 1, 60_000] });
        const shutdown = new AbortController();
        const cut = first.queue.run(job, shutdown.signal);
        await expect.poll(async () => (await harness.ledger.get("call", job.id))?.body.attempts).toBe(3);
        await expect.poll(() => stateOf("c1")).toBe("waiting");
        shutdown.abort(new TurnAbort("shutdown"));
        await cut;
        await harness.ledger.transition("call", job.id, ["waiting"], "waiting", (body) => ({ ...body, retryAt: 0 }));
        const next = await open(() => failed("503", { isRetryable: true }));
        expect(await next.queue.run(job, never)).toMatchObject({ status: "failed", attempts: 4 });
        expect(next.runs).toEqual(["c1"]);
      });
    });

    describe("two processes that ask for the same job", () => {
      test("run a non-idempotent tool at most once, and both get the same result", async () => {
        const one = await open(() => ok("one"));
        const other = await open(() => ok("other"));
        const results = await Promise.all([one.queue.run(jobOf("c1"), never), other.queue.run(jobOf("c1"), never)]);
        expect(results[0]).toEqual(results[1]);
        expect(one.runs.length + other.runs.length).toBeLessThanOrEqual(1);
      });

      test("both get the first known outcome of an idempotent tool", async () => {
        const job = jobOf("c1", { isIdempotent: true });
        const { promise, resolve } = Promise.withResolvers<ToolAttempt>();
        const slow = await open(() => promise);
        const late = slow.queue.run(job, never);
        await expect.poll(() => slow.runs).toEqual(["c1"]);
        const quick = await open(() => ok("quick"));
        const result = await quick.queue.run(job, never);
        resolve(ok("slow"));
        expect(result).toMatchObject({ status: "ok", text: "quick" });
        expect(await late).toEqual(result);
      });

      test("any mix of requests, crashes and restarts has at most one effect and one final result", async () => {
        let run = 0;
        const outcome = fc.constantFrom("ok", "answer", "hangs" as const);
        await fc.assert(
          fc.asyncProperty(fc.array(outcome, { minLength: 1, maxLength: 4 }), async (starts) => {
            run += 1;
            const job = jobOf(`p${run}`);
            let effects = 0;
            const results = new Set<string>();
            for (const start of starts) {
              const { queue, runs } = await open(() => {
                effects += 1;
                if (start === "hangs") return forEver();
                return start === "ok" ? ok() : failed("no");
              });
              const result = queue.run(job, never);
              const isHanging = new Promise<undefined>((resolve) => {
                const look = () => (runs.length > 0 ? resolve(undefined) : setImmediate(look));
                if (start === "hangs" && effects === 0) look();
              });
              const said = await Promise.race([result, isHanging]);
              if (said !== undefined) results.add(JSON.stringify(said));
            }
            expect(effects).toBe(1);
            expect(results.size).toBeLessThanOrEqual(1);
          }),
          { numRuns: inputs(200) },
        );
      });
    });

    describe("a timeout", () => {
      const isSoon = { timeoutMs: 200 };

      test("stops the tool, and is a failure that states the limit", async () => {
        const { queue, runs } = await open(({ signal }) => untilAborted(signal));
        const result = await queue.run(jobOf("c1", isSoon), never);
        expect(result).toMatchObject({ status: "failed", attempts: 1 });
        expect(result.text).toContain("timed out after 0.2 s");
        expect(runs).toEqual(["c1"]);
      });

      test("is not retried even if the stopped tool calls it temporary, because its effects are unknown", async () => {
        const { queue, runs } = await open(
          ({ signal }) =>
            new Promise((resolve) => {
              signal.addEventListener("abort", () => resolve(failed("network", { isRetryable: true })), { once: true });
            }),
        );
        expect(await queue.run(jobOf("c1", isSoon), never)).toMatchObject({ status: "failed", attempts: 1 });
        expect(runs).toEqual(["c1"]);
      });

      test("of an idempotent tool is retried", async () => {
        const { queue } = await open(({ attempt, signal }) => (attempt === 1 ? untilAborted(signal) : ok()));
        const job = jobOf("c1", { ...isSoon, isIdempotent: true });
        expect(await queue.run(job, never)).toMatchObject({ status: "ok", attempts: 2 });
      });

      test("ends the call even if the tool ignores it, and says that it may still be running", async () => {
        const { queue } = await open(forEver, { concurrency: 1 });
        const result = await queue.run(jobOf("c1", isSoon), never);
        expect(result).toMatchObject({ status: "failed", text: expect.stringContaining("may still be running") });
        expect(queue.counts()).toEqual({ waiting: 0, running: 0 });
      });

      test("with a successful result from the tool is a success", async () => {
        const { queue } = await open(({ signal }) => untilAborted(signal).then(() => ok("just in time")));
        expect(await queue.run(jobOf("c1", isSoon), never)).toMatchObject({ status: "ok", text: "just in time" });
      });
    });

    describe("an abort", () => {
      test("reaches the tool, and the outcome is unknown", async () => {
        const abort = new AbortController();
        let isTold = false;
        const { queue, runs } = await open(async ({ signal }) => {
          const end = await untilAborted(signal);
          isTold = true;
          return end;
        });
        const asked = queue.run(jobOf("c1"), abort.signal);
        await expect.poll(() => runs).toEqual(["c1"]);
        abort.abort(new TurnAbort("stopped"));
        const result = await asked;
        expect(result).toMatchObject({ status: "interrupted", attempts: 1 });
        expect(isTold).toBe(true);
        expect(await stateOf("c1")).toBe("unknown");
        expect(await queue.run(jobOf("c1"), never)).toEqual(result);
      });

      test("does not wait for a tool that ignores it", async () => {
        const abort = new AbortController();
        const { queue, runs } = await open(forEver);
        const asked = queue.run(jobOf("c1"), abort.signal);
        await expect.poll(() => runs).toEqual(["c1"]);
        abort.abort();
        expect(await asked).toMatchObject({ status: "interrupted" });
      });

      test("before the start, in the queue, or during a retry wait prevents further runs", async () => {
        const setup = { concurrency: 1, backoff: [60_000] };
        const { promise, resolve } = Promise.withResolvers<ToolAttempt>();
        const { queue, runs } = await open(
          ({ attempt }) => (attempt === 1 ? failed("503", { isRetryable: true }) : promise),
          setup,
        );
        const abort = new AbortController();
        const waiting = queue.run(jobOf("waits"), abort.signal);
        await expect.poll(() => stateOf("waits")).toBe("waiting");
        const running = queue.run(jobOf("runs"), never);
        await expect.poll(() => runs).toEqual(["waits", "runs"]);
        const queued = queue.run(jobOf("queued"), abort.signal);
        await expect.poll(() => queue.counts()).toEqual({ waiting: 2, running: 1 });
        abort.abort();
        expect(await waiting).toMatchObject({
          status: "interrupted",
          attempts: 1,
          text: expect.stringContaining("503"),
        });
        expect(await queued).toMatchObject({
          status: "interrupted",
          attempts: 0,
          text: expect.stringContaining("Not run"),
        });
        expect(await queue.run(jobOf("late"), abort.signal)).toMatchObject({ status: "interrupted", attempts: 0 });
        resolve(ok());
        await running;
        expect(runs).toEqual(["waits", "runs"]);
        expect(await queue.run(jobOf("queued"), never)).toMatchObject({ status: "interrupted", attempts: 0 });
      });

      test("by one of two waiting callers stops the job for both", async () => {
        const abort = new AbortController();
        const { queue, runs } = await open(({ signal }) => untilAborted(signal));
        const both = [queue.run(jobOf("c1"), never), queue.run(jobOf("c1"), abort.signal)];
        await expect.poll(() => runs).toEqual(["c1"]);
        abort.abort();
        const [one, other] = await Promise.all(both);
        expect(one).toEqual(other);
        expect(one?.status).toBe("interrupted");
      });

      test("by a shutdown leaves unstarted calls for the next start", async () => {
        const abort = new AbortController();
        const { queue, runs } = await open(forEver, { concurrency: 1 });
        void queue.run(jobOf("c0"), never);
        await expect.poll(() => runs).toEqual(["c0"]);
        const asked = queue.run(jobOf("c1"), abort.signal);
        await expect.poll(() => stateOf("c1")).toBe("planned");
        abort.abort(new TurnAbort("shutdown"));
        expect(await asked).toMatchObject({ status: "interrupted", attempts: 0 });
        expect(await stateOf("c1")).toBe("planned");
        const next = await open(() => ok());
        expect(await next.queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok" });
      });

      test("by a shutdown while an idempotent tool runs lets the next start run it again", async () => {
        const abort = new AbortController();
        const job = jobOf("c1", { isIdempotent: true });
        const { queue, runs } = await open(({ signal }) => untilAborted(signal));
        const asked = queue.run(job, abort.signal);
        await expect.poll(() => runs).toEqual(["c1"]);
        abort.abort(new TurnAbort("shutdown"));
        expect(await asked).toMatchObject({ status: "interrupted" });
        const next = await open(() => ok());
        expect(await next.queue.run(job, never)).toMatchObject({ status: "ok", attempts: 2 });
      });
    });
  });
}
