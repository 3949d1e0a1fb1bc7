/** Several real processes on one BullMQ queue and one ledger on Redis, and what happens to them: killed, frozen, blocked. */
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { TurnAbort } from "../../src/lib/abort.ts";
import type { EventMap, EventName } from "../../src/ports/events.ts";
import type { ToolJob } from "../../src/ports/tool.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import {
  endIdleProcesses,
  eventsOf,
  jobOf,
  type OpenedQueue,
  openQueue,
  type ProcessTiming,
  type QueueProcess,
  startQueueProcess,
} from "./bull-world.ts";

/** Where nobody dies: a lock that ran out on a busy machine would look like a death. */
const longLock = { lockMs: 60_000, stalledMs: 30_000 };

describe.skipIf(missingRedis !== undefined)(`processes that share a queue on BullMQ${redisNote}`, () => {
  const never = new AbortController().signal;
  let server: RedisServer;
  let folder: string;
  let prefix: string;
  /** This process asks for jobs, and has no worker. */
  let asker: OpenedQueue;
  let workers: QueueProcess[];

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(async () => {
    endIdleProcesses();
    await server.dispose();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "remora-processes-"));
    prefix = `{${randomUUID()}}:`;
    workers = [];
    asker = await openQueue({ url: server.url, prefix, runs: false });
  });
  afterEach(async ({ task }) => {
    await asker.close();
    // After a failure they may be frozen.
    await Promise.all(workers.map((one) => (task.result?.state === "pass" ? one.release() : one.kill())));
    await rm(folder, { recursive: true });
  });

  async function startWorkers(count: number, timing: ProcessTiming = {}): Promise<QueueProcess[]> {
    const settings = { url: server.url, prefix, runs: true, timing };
    const started = await Promise.all(Array.from({ length: count }, () => startQueueProcess(settings)));
    workers.push(...started);
    return started;
  }

  const fileOf = (callId: string) => join(folder, `${callId}.txt`);
  const written = (callId: string) => readFile(fileOf(callId), "utf8").catch(() => "");
  const told = <N extends EventName>(name: N): EventMap[N][] => workers.flatMap((one) => eventsOf(one.events, name));

  function job(callId: string, name: string, more: Partial<ToolJob> = {}, ms = 0): ToolJob {
    return jobOf(callId, more, { name, input: { file: fileOf(callId), ms } });
  }

  /** The worker that has told of the job, once its tool is at work. */
  async function runnerOf(callId: string): Promise<QueueProcess> {
    return await vi.waitFor(async () => {
      const runner = workers.find((one) => eventsOf(one.events, "tool.called").some((of) => of.callId === callId));
      if (runner === undefined || !(await written(callId)).startsWith("begin"))
        throw new Error("nobody has begun it yet");
      return runner;
    }, 15_000);
  }

  /** How often BullMQ has given the job to a worker, and has taken it away from one because its lock had run out. */
  async function seenByBullMq(callId: string): Promise<{ given: number; stalled: number }> {
    const [given, stalled] = await server.client.hmget(`${prefix}bull:tools:turn-${callId}`, "ats", "stc");
    return { given: Number(given), stalled: Number(stalled) };
  }

  test("every job runs once, in one of the workers, and what happens to it is told once", async () => {
    await startWorkers(2, longLock);
    const calls = Array.from({ length: 40 }, (_, index) => ({ id: `c${index}`, isFlaky: index % 4 === 0 }));
    const asked = calls.map(({ id, isFlaky }) => asker.queue.run(job(id, isFlaky ? "flaky" : "write"), never));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(calls.map(() => "ok"));
    for (const { id, isFlaky } of calls) {
      expect(await written(id)).toBe(isFlaky ? "begin\n503\nbegin\nwritten\n" : "begin\nwritten\n");
    }
    const toldOf = (name: "tool.called" | "tool.completed" | "tool.retried") =>
      told(name)
        .map(({ callId }) => callId)
        .sort();
    const all = calls.map(({ id }) => id).sort();
    await vi.waitFor(() => expect(toldOf("tool.completed")).toEqual(all));
    expect(toldOf("tool.called")).toEqual(all);
    expect(toldOf("tool.retried")).toEqual(
      calls
        .filter(({ isFlaky }) => isFlaky)
        .map(({ id }) => id)
        .sort(),
    );
    expect(asker.events).toEqual([]);
  });

  test("each worker runs as many tools at once as it may", async () => {
    await startWorkers(2, longLock);
    const calls = Array.from({ length: 9 }, (_, index) => {
      const [id, stop] = [`c${index}`, new AbortController()];
      return { id, stop, asked: asker.queue.run(job(id, "hang"), stop.signal) };
    });
    await vi.waitFor(() => expect(told("tool.called")).toHaveLength(8), 15_000);
    for (const one of workers) expect(eventsOf(one.events, "tool.called")).toHaveLength(4);
    await vi.waitFor(() => expect(asker.queue.counts()).toEqual({ waiting: 1, running: 8 }));
    const begun = new Set(told("tool.called").map(({ callId }) => callId));
    // The waiting one first: it would begin as soon as another one has ended.
    const inOrder = calls.toSorted((one, other) => Number(begun.has(one.id)) - Number(begun.has(other.id)));
    const attempts: number[] = [];
    for (const { stop, asked } of inOrder) {
      stop.abort(new TurnAbort("stopped"));
      attempts.push((await asked).attempts);
    }
    expect(attempts).toEqual([0, ...Array(8).fill(1)]);
  });

  test("what may not run twice does not after its worker was killed, and its outcome is unknown", async () => {
    await startWorkers(2);
    const asked = asker.queue.run(job("c1", "hang"), never);
    await (await runnerOf("c1")).kill();
    expect(await asked).toMatchObject({ status: "interrupted", attempts: 1, text: expect.stringContaining("unknown") });
    expect(await written("c1")).toBe("begin\n");
    await vi.waitFor(() => expect(told("tool.failed")).toHaveLength(1));
    expect(told("queue.stalled")).toEqual([expect.objectContaining({ jobId: "turn-c1" })]);
    expect((await asker.ledger.get("call", "turn-c1"))?.state).toBe("unknown");
  });

  test("what may run twice is run by another worker after its own was killed", async () => {
    await startWorkers(2);
    const stop = new AbortController();
    const asked = asker.queue.run(job("c1", "hang", { isIdempotent: true }), stop.signal);
    await (await runnerOf("c1")).kill();
    await vi.waitFor(async () => expect(await written("c1")).toBe("begin\nbegin\n"), 15_000);
    stop.abort();
    expect(await asked).toMatchObject({ status: "interrupted", attempts: 2 });
    await vi.waitFor(async () => expect(await written("c1")).toBe("begin\nbegin\nstopped\n"));
  });

  test("a worker whose event loop stands still for longer than its lock goes on being the one that runs the job", async () => {
    await startWorkers(2);
    const until = join(folder, "enough");
    const blocking = jobOf("c1", {}, { name: "block", input: { file: fileOf("c1"), until } });
    const asked = asker.queue.run(blocking, never);
    await vi.waitFor(async () => expect((await seenByBullMq("c1")).given).toBeGreaterThan(2), 10_000);
    expect((await seenByBullMq("c1")).stalled).toBeGreaterThan(0);
    await writeFile(until, "");
    expect(await asked).toMatchObject({ status: "ok", text: "blocked", attempts: 1 });
    expect(await written("c1")).toBe("begin\nblocked\n");
    await vi.waitFor(() => expect(told("tool.completed")).toHaveLength(1));
    expect([told("queue.stalled"), told("tool.failed")]).toEqual([[], []]);
  });

  test("a single worker that is given its own job again, because its lock had run out, makes each attempt once", async () => {
    // Nobody but the worker brings the job on: the asker does not look after it within this test.
    asker = await reopened({ sweepMs: 60_000 });
    await startWorkers(1);
    const asked = asker.queue.run(job("c1", "flaky", {}, 1_000), never);
    await runnerOf("c1");
    expect(await asker.queue.run(job("c2", "block", {}, 500), never)).toMatchObject({ status: "ok" });
    await vi.waitFor(async () => expect((await seenByBullMq("c1")).given).toBeGreaterThan(1), 15_000);
    expect(await asked).toMatchObject({ status: "ok", attempts: 2 });
    expect(await written("c1")).toBe("begin\n503\nbegin\nwritten\n");
  });

  test("a job that Redis forgets while a worker runs it is not begun by another one", async () => {
    await startWorkers(2);
    const asked = asker.queue.run(job("c1", "write", {}, 1_000), never);
    await runnerOf("c1");
    await Promise.all((await server.client.keys(`${prefix}bull:*`)).map((key) => server.client.del(key)));
    // The asker adds it again, and it is given to a worker.
    await vi.waitFor(async () => expect((await seenByBullMq("c1")).given).toBeGreaterThan(0), 15_000);
    expect(await asked).toMatchObject({ status: "ok", text: "written", attempts: 1 });
    expect(await written("c1")).toBe("begin\nwritten\n");
  });

  test("a worker that is frozen for long, and goes on, gives the result", async () => {
    await startWorkers(2);
    const asked = asker.queue.run(job("c1", "write", { timeoutMs: 60_000 }, 300), never);
    const runner = await runnerOf("c1");
    runner.signal("SIGSTOP");
    await vi.waitFor(async () => expect((await seenByBullMq("c1")).given).toBeGreaterThan(4), 10_000);
    runner.signal("SIGCONT");
    expect(await asked).toMatchObject({ status: "ok", text: "written", attempts: 1 });
    expect(await written("c1")).toBe("begin\nwritten\n");
  });

  test("a tool that takes longer than the lock keeps its job, because the lock is renewed", async () => {
    await startWorkers(2, { lockMs: 3_000, stalledMs: 100 });
    const asked = asker.queue.run(job("c1", "write", {}, 7_000), never);
    expect(await asked).toMatchObject({ status: "ok", attempts: 1 });
    expect(await written("c1")).toBe("begin\nwritten\n");
    expect(await seenByBullMq("c1")).toEqual({ given: 1, stalled: 0 });
  });

  test("a person's stop reaches the tool", async () => {
    await startWorkers(1, longLock);
    const stop = new AbortController();
    const asked = asker.queue.run(job("c1", "hang"), stop.signal);
    await runnerOf("c1");
    stop.abort(new TurnAbort("stopped"));
    expect(await asked).toMatchObject({ status: "interrupted", attempts: 1 });
    await vi.waitFor(async () => expect(await written("c1")).toBe("begin\nstopped\n"));
    expect((await asker.ledger.get("call", "turn-c1"))?.state).toBe("unknown");
  });

  test("a person's stop does not wait for a worker that does not answer, and nobody begins the job again", async () => {
    await startWorkers(1);
    const again = job("c1", "hang", { isIdempotent: true });
    const stop = new AbortController();
    const asked = asker.queue.run(again, stop.signal);
    const runner = await runnerOf("c1");
    runner.signal("SIGSTOP");
    stop.abort(new TurnAbort("stopped"));
    const result = await asked;
    expect(result).toMatchObject({ status: "interrupted", attempts: 1 });
    await runner.kill();
    const [other] = await startWorkers(1);
    expect(await other?.run(again)).toEqual(result);
    expect(await written("c1")).toBe("begin\n");
  });

  test("a person's stop while the worker is dead: the one that takes the job over does not begin it again", async () => {
    // Found by the stall alone: the asker itself is more patient than this test.
    asker = await reopened({ maxStopMs: 60_000 });
    await startWorkers(1);
    const stop = new AbortController();
    const asked = asker.queue.run(job("c1", "hang", { isIdempotent: true }), stop.signal);
    const runner = await runnerOf("c1");
    runner.signal("SIGSTOP");
    stop.abort(new TurnAbort("stopped"));
    await vi.waitFor(async () => {
      expect((await asker.ledger.get("call", "turn-c1"))?.body).toMatchObject({ stop: "stopped" });
    });
    await runner.kill();
    await startWorkers(1);
    expect(await asked).toMatchObject({ status: "interrupted", attempts: 1 });
    expect(await written("c1")).toBe("begin\n");
  });

  async function reopened(timing: ProcessTiming): Promise<OpenedQueue> {
    await asker.close();
    return await openQueue({ url: server.url, prefix, runs: false, timing });
  }

  test("a process that goes down leaves its job to the worker that runs it, and the next one gets the result", async () => {
    await startWorkers(1, longLock);
    const down = new AbortController();
    const wanted = job("c1", "write", {}, 500);
    const asked = asker.queue.run(wanted, down.signal);
    await runnerOf("c1");
    down.abort(new TurnAbort("shutdown"));
    expect(await asked).toMatchObject({ status: "interrupted" });
    asker = await reopened({});
    expect(await asker.queue.run(wanted, never)).toMatchObject({ status: "ok", text: "written", attempts: 1 });
    expect(await written("c1")).toBe("begin\nwritten\n");
  });

  test("a worker that goes down lets go of its job, and another one need not wait for its lock to run out", async () => {
    const [first] = await startWorkers(1, longLock);
    const wanted = job("c1", "hang", { isIdempotent: true });
    const asked = first?.run(wanted);
    await runnerOf("c1");
    first?.abort(wanted.id, "shutdown");
    expect(await asked).toMatchObject({ status: "interrupted" });
    expect(await first?.close()).toBe(0);
    await startWorkers(1, longLock);
    const stop = new AbortController();
    const again = asker.queue.run(wanted, stop.signal);
    await vi.waitFor(async () => expect(await written("c1")).toBe("begin\nshutdown\nbegin\n"), 15_000);
    stop.abort();
    expect(await again).toMatchObject({ attempts: 2 });
  });

  test("whatever happens to workers and Redis: each call ends, once, and what may not run twice is begun once", async () => {
    // Longer than clients need to come back to a Redis that was started again.
    const timing = { graceMs: 3_000 };
    await startWorkers(3, timing);
    const calls = Array.from({ length: 120 }, (_, index) => ({ id: `c${index}`, isIdempotent: index % 3 === 0 }));
    const jobs = calls.map(({ id, isIdempotent }) => job(id, "write", { isIdempotent }, 100));
    let ended = 0;
    const asked = jobs.map((one) =>
      asker.queue.run(one, never).finally(() => {
        ended += 1;
      }),
    );
    const untilEnded = (count: number) => vi.waitFor(() => expect(ended).toBeGreaterThanOrEqual(count), 20_000);
    await untilEnded(20);
    await workers[0]?.kill();
    await startWorkers(1, timing);
    await untilEnded(40);
    await server.kill();
    await server.start();
    await untilEnded(60);
    workers[1]?.signal("SIGSTOP");
    await untilEnded(80);
    workers[1]?.signal("SIGCONT");
    await workers[2]?.kill();
    const results = await Promise.all(asked);
    for (const [index, { id, isIdempotent }] of calls.entries()) {
      const text = await written(id);
      const begun = text.match(/begin/g)?.length ?? 0;
      expect(begun).toBeLessThanOrEqual(isIdempotent ? 4 : 1);
      // Killed in the very moment between the tool's end and its record, it may have ended all the same.
      if (results[index]?.status !== "interrupted") expect(text).toContain("written");
    }
    expect(await Promise.all(jobs.map((one) => asker.queue.run(one, never)))).toEqual(results);
    const ends = [...told("tool.completed"), ...told("tool.failed")].map(({ callId }) => callId);
    expect(new Set(ends).size).toBe(ends.length);
    expect(results.filter(({ status }) => status === "interrupted").length).toBeLessThanOrEqual(8);
  });

  test("a worker that is closed brings what runs to its end, takes nothing new, and ends by itself", async () => {
    const [worker] = await startWorkers(1, longLock);
    const running = asker.queue.run(job("c1", "write", {}, 700), never);
    await runnerOf("c1");
    const exited = worker?.close();
    const next = asker.queue.run(job("c2", "write"), never);
    expect(await running).toMatchObject({ status: "ok" });
    expect(await exited).toBe(0);
    expect(await written("c2")).toBe("");
    await startWorkers(1, longLock);
    expect(await next).toMatchObject({ status: "ok", attempts: 1 });
  });
});
