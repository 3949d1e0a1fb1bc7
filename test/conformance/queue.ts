/**
 * The contract of every tool queue: each sentence of `ToolQueue` in src/ports/tool.ts. A killed process is simulated by a queue
 * that is abandoned with its tool hanging, and a new queue on the same ledger.
 */
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TurnAbort } from "../../src/lib/abort.ts";
import type { Backoff } from "../../src/lib/backoff.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { EventMap, EventName, Events } from "../../src/ports/events.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ToolAttempt, Toolbox, ToolJob, ToolQueue } from "../../src/ports/tool.ts";

interface QueueSetup {
  toolbox: Toolbox;
  events: Events;
  backoff: Backoff;
  concurrency: number;
  outputLimit: number;
  outputsFolder(): string;
}

export interface QueueHarness {
  ledger: Ledger;
  /** Creates a queue on the same state: a second one is another process or the next start. */
  open(setup: QueueSetup): Promise<ToolQueue>;
  dispose(): Promise<void>;
}

type Attempt = (job: { name: string; attempt: number; signal: AbortSignal }) => ToolAttempt | Promise<ToolAttempt>;

const never = new AbortController().signal;
const ok = (text = "fine"): ToolAttempt => ({ isOk: true, text, files: [], isRetryable: false });
const failed = (text: string, more: Partial<ToolAttempt> = {}): ToolAttempt => ({
  isOk: false,
  text,
  files: [],
  isRetryable: false,
  ...more,
});
const untilAborted = (signal: AbortSignal): Promise<ToolAttempt> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(failed("was told to stop")), { once: true }));
const forEver = (): Promise<ToolAttempt> => new Promise(() => {});

export function queueConformance(name: string, createHarness: () => Promise<QueueHarness>): void {
  describe(`${name} keeps the queue's contract`, () => {
    let harness: QueueHarness;
    let workingFolder: string;
    let heard: { name: EventName; fields: object }[];

    beforeEach(async () => {
      harness = await createHarness();
      workingFolder = await mkdtemp(join(tmpdir(), "remora-queue-"));
      heard = [];
    });
    afterEach(async () => {
      await harness.dispose();
      await rm(workingFolder, { recursive: true });
    });

    /** A queue with a scripted toolbox; `runs` lists the tools it ran, in order. */
    async function open(attempt: Attempt, setup: Partial<QueueSetup> = {}) {
      const runs: string[] = [];
      const toolbox: Toolbox = {
        specs: () => [],
        async run(call, _scope, signal) {
          runs.push(call.id);
          return await attempt({ name: call.name, attempt: runs.length, signal });
        },
      };
      const events = createEvents();
      events.listen((event) => heard.push(event));
      const outputsFolder = () => join(workingFolder, "outputs");
      const rest = { backoff: [1, 2, 3], concurrency: 4, outputLimit: 30_000, outputsFolder };
      const queue = await harness.open({ toolbox, events, ...rest, ...setup });
      return { queue, runs };
    }

    function jobOf(callId: string, more: Partial<ToolJob> = {}): ToolJob {
      return {
        id: `turn-${callId}`,
        call: { id: callId, name: "tool", input: { with: callId } },
        scope: {
          turnId: "turn",
          conversationId: "local:dm:ann",
          scope: "dm:ann",
          requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
          workingFolder,
        },
        isIdempotent: false,
        timeoutMs: 10_000,
        ...more,
      };
    }

    function heardOf<N extends EventName>(wanted: N): EventMap[N][] {
      return heard.flatMap((event) => (event.name === wanted ? [event.fields as EventMap[N]] : []));
    }

    const stateOf = async (callId: string) => (await harness.ledger.get("call", `turn-${callId}`))?.state;

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
        heard = [];
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
        const first = await open(() => failed("503", { isRetryable: true }), { backoff: [150, 0, 0] });
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
          { numRuns: 25 },
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
