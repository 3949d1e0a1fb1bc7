import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ToolJob, ToolResult } from "../../src/ports/tool.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createCallRecord, retryInMs, runnerOf } from "../../src/tool-queue/calls/call-store.ts";

const requester = { id: "ann", name: "Ann", isBot: false, roles: [] };
const job: ToolJob = {
  id: "turn-c1",
  call: { id: "c1", name: "tool", input: {} },
  scope: { turnId: "turn", conversationId: "c", scope: "dm:ann", requester, workingFolder: "/files" },
  isIdempotent: true,
  timeoutMs: 1_000,
};
const result = (text: string): ToolResult => {
  return { callId: "c1", name: "tool", status: "ok", text, attempts: 1, durationMs: 1, files: [] };
};

let ledger: Ledger;
beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(() => ledger.close());

describe("the record of a call", () => {
  test("is planned once, however often it is asked for", async () => {
    const record = createCallRecord(ledger);
    const entry = await record.plan(job);
    expect(entry).toMatchObject({ state: "planned", group: "turn", body: { attempts: 0 } });
    expect(await record.plan(job)).toEqual(entry);
  });

  test("gives an attempt to one of those who saw the same entry", async () => {
    const record = createCallRecord(ledger);
    const seen = await record.plan(job);
    const tries = await Promise.all([record.start(seen), record.start(seen), record.start(seen)]);
    expect(tries.filter((one) => one.isMine)).toHaveLength(1);
    expect(tries.map((one) => one.entry.body.attempts)).toEqual([1, 1, 1]);
  });

  test("does not move for a step that was decided on an earlier attempt", async () => {
    const record = createCallRecord(ledger);
    const first = (await record.start(await record.plan(job))).entry;
    const { entry: waiting, isMine } = await record.postpone(first, 5, "503");
    expect(isMine).toBe(true);
    expect(waiting).toMatchObject({ state: "waiting", body: { attempts: 1, retryAt: 5, failure: "503" } });
    const second = (await record.start(waiting)).entry;
    expect(second).toMatchObject({ state: "started", body: { attempts: 2, startedAt: first.body.startedAt } });

    expect(await record.postpone(first, 9, "late")).toEqual({ entry: second, isMine: false });
    expect(await record.finish(first, "unknown", result("late"))).toEqual({ entry: second, isMine: false });
    expect(await record.start(first)).toEqual({ entry: second, isMine: false });
    const { entry: again } = await record.postpone(second, 7, "504");
    expect(await record.start(waiting)).toEqual({ entry: again, isMine: false });
  });

  test("is due when its wait is over, or at once if the clock was set back by hours in the meantime", async () => {
    const record = createCallRecord(ledger);
    const { entry } = await record.start(await record.plan(job));
    const { entry: waiting } = await record.postpone(entry, Date.now() + 18_000, "503");
    const { updatedAt } = waiting;
    expect(retryInMs(waiting, updatedAt)).toBeGreaterThan(17_000);
    // The clock of another machine.
    expect(retryInMs(waiting, updatedAt - 1_000)).toBeGreaterThan(17_000);
    expect(retryInMs(waiting, updatedAt + 20_000)).toBe(0);
    expect(retryInMs(waiting, updatedAt - 3 * 3_600_000)).toBe(0);
  });

  test("ends with the first outcome that is known, also of an attempt that somebody else has followed up", async () => {
    const record = createCallRecord(ledger);
    const first = (await record.start(await record.plan(job))).entry;
    const second = (await record.start(first)).entry;
    const { entry: done, isMine } = await record.finish(first, "done", result("first"));
    expect(isMine).toBe(true);
    expect(done).toMatchObject({ state: "done", body: { result: result("first") } });
    expect(await record.finish(second, "done", result("second"))).toEqual({ entry: done, isMine: false });
    expect((await record.start(second)).isMine).toBe(false);
  });

  test("whose entry has gone is not begun anew", async () => {
    const record = createCallRecord(ledger);
    const seen = await record.plan(job);
    await ledger.prune("call", ["planned"], Date.now() + 1_000);
    await expect(record.start(seen)).rejects.toMatchObject({ code: "queue.record-missing" });
  });

  test("is proposed by one; the others get what is there", async () => {
    const record = createCallRecord(ledger);
    expect(await record.look(job.id)).toBeUndefined();
    expect(await record.propose(job)).toBeUndefined();
    expect(await record.propose(job)).toEqual(await record.look(job.id));
  });
});

describe("the record of a call among several processes", () => {
  /** A ledger that makes each step, and whose answer never arrives: what it says when it is asked again is another matter. */
  function losingAnswers(): Ledger {
    return {
      ...ledger,
      async transition(kind, id, from, to, change) {
        await ledger.transition(kind, id, from, to, change);
        return await ledger.transition(kind, id, from, to, change);
      },
    };
  }

  test("knows a step whose answer got lost as its own, and whose it is", async () => {
    const record = createCallRecord(losingAnswers(), "one");
    await record.propose(job);
    const started = await record.start({ id: job.id, state: "planned", body: { attempts: 0 } });
    expect(started).toMatchObject({ isMine: true, entry: { state: "started", body: { attempts: 1 } } });
    expect(runnerOf(started.entry)).toBe("one");
    const waiting = await record.postpone(started.entry, 5, "503");
    expect(waiting).toMatchObject({ isMine: true, entry: { state: "waiting" } });
    const again = await record.start(waiting.entry);
    expect(again).toMatchObject({ isMine: true, entry: { body: { attempts: 2 } } });
    expect(await record.finish(again.entry, "done", result("fine"))).toMatchObject({ isMine: true });
    expect(await record.finish(again.entry, "done", result("fine"))).toMatchObject({ isMine: false });
  });

  test("does not take an attempt of its own process for another one's to begin", async () => {
    const record = createCallRecord(ledger, "one");
    const seen = await record.plan(job);
    await record.start(seen);
    expect(await record.start(seen)).toMatchObject({ isMine: false, entry: { state: "started" } });
  });

  test("that was let go of has no runner, and stays started", async () => {
    const record = createCallRecord(ledger, "one");
    const { entry } = await record.start(await record.plan(job));
    const released = await record.release(entry);
    expect(released).toMatchObject({ state: "started", body: { attempts: 1 } });
    expect(runnerOf(released)).toBeUndefined();
  });

  test("that is to end gets no further attempt", async () => {
    const record = createCallRecord(ledger, "one");
    const { entry } = await record.start(await record.plan(job));
    const asked = await record.requestStop(entry, "stopped");
    expect(asked).toMatchObject({ state: "started", body: { stop: "stopped" } });
    expect(await createCallRecord(ledger, "other").start(asked)).toMatchObject({ isMine: false });
    const { entry: waiting } = await record.postpone(entry, 0, "503");
    expect(waiting).toMatchObject({ state: "waiting", body: { stop: "stopped" } });
    expect(await record.start(waiting)).toMatchObject({ isMine: false, entry: { state: "waiting" } });
  });
});
