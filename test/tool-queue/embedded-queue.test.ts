import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createRedactor } from "../../src/lib/redact.ts";
import { notKeptText, resultKey } from "../../src/ports/ephemeral.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ToolAttempt, Toolbox, ToolJob } from "../../src/ports/tool.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createEmbeddedQueue } from "../../src/tool-queue/embedded/queue.ts";
import { queueConformance } from "../conformance/queue.ts";
import { queueInterruptions } from "../conformance/queue-interruptions.ts";
import type { QueueHarness } from "../conformance/queue-world.ts";
import { createRecordedAudit } from "../doubles/audit.ts";

const createHarness = async (): Promise<QueueHarness> => {
  const folder = await mkdtemp(join(tmpdir(), "remora-queue-ledger-"));
  const path = join(folder, "ledger.db");
  const ledgers = [createSqliteLedger({ path })];
  return {
    ledger: ledgers[0] as Ledger,
    async open(setup) {
      const ledger = createSqliteLedger({ path });
      ledgers.push(ledger);
      return createEmbeddedQueue({
        ephemeral: { put() {} },
        ...setup,
        ledger,
        audit: createRecordedAudit(),
        redact: (text) => text,
        log: silentLog,
      });
    },
    async dispose() {
      await Promise.all(ledgers.map((ledger) => ledger.close()));
      await rm(folder, { recursive: true });
    },
  };
};

queueConformance("the embedded queue", createHarness);
queueInterruptions("the embedded queue", createHarness);

describe("the embedded queue", () => {
  const never = new AbortController().signal;
  let workingFolder: string;
  let ledger: Ledger;
  beforeEach(async () => {
    workingFolder = await mkdtemp(join(tmpdir(), "remora-queue-"));
    ledger = createSqliteLedger({ path: ":memory:" });
  });
  afterEach(async () => {
    await ledger.close();
    await rm(workingFolder, { recursive: true });
  });

  function open(
    text: () => string,
    on: Ledger = ledger,
    secrets: string[] = [],
    ending: () => Partial<ToolAttempt> = () => ({}),
  ) {
    const inputs: string[] = [];
    const unstored = new Map<string, string>();
    let runs = 0;
    const events = createEvents();
    events.listen((event) => event.name === "tool.called" && inputs.push(event.fields.input));
    const toolbox: Toolbox = {
      specs: () => [],
      async run() {
        runs += 1;
        return { isOk: true, text: text(), files: [], isRetryable: false, ...ending() };
      },
    };
    const audit = createRecordedAudit();
    const queue = createEmbeddedQueue({
      ephemeral: { put: (key, held) => void unstored.set(key, held) },
      ledger: on,
      toolbox,
      events,
      audit,
      backoff: [1],
      concurrency: 1,
      outputLimit: 1_000,
      outputsFolder: () => join(workingFolder, "outputs"),
      redact: createRedactor(secrets),
      log: silentLog,
    });
    return { queue, inputs, audit, unstored, runs: () => runs };
  }

  function jobOf(callId: string, input = {}): ToolJob {
    const requester = { id: "ann", name: "Ann", isBot: false, roles: [] };
    const scope = { turnId: "turn", conversationId: "c", scope: "dm:ann" as const, requester, workingFolder };
    return {
      id: `turn-${callId}`,
      call: { id: callId, name: "tool", input },
      scope,
      isIdempotent: false,
      timeoutMs: 5_000,
    };
  }

  /** A ledger whose named steps fail as on a full disk. */
  function failing(isFailing: (step: string, to?: string) => boolean): Ledger {
    const full = () => new RemoraError({ code: "storage.full", place: "ledger", message: "the disk is full." });
    return {
      ...ledger,
      async create(kind, id, entry) {
        if (isFailing("create")) throw full();
        return await ledger.create(kind, id, entry);
      },
      async transition(kind, id, from, to, change) {
        if (isFailing("transition", to)) throw full();
        return await ledger.transition(kind, id, from, to, change);
      },
    };
  }

  test("what can't be planned or started is not run, and the model reads why", async () => {
    for (const step of ["create", "transition"]) {
      const { queue, runs } = open(
        () => "ran",
        failing((one) => one === step),
      );
      const result = await queue.run(jobOf(step), never);
      expect(result).toMatchObject({
        status: "failed",
        attempts: 0,
        text: expect.stringContaining("the disk is full"),
      });
      expect(runs()).toBe(0);
    }
  });

  test("a call is in the audit before it runs, and what can't be recorded does not run", async () => {
    const { queue, audit, runs } = open(() => {
      expect(audit.lines.map(({ name }) => name)).toEqual(["tool.called"]);
      return "fine";
    });
    const job = { ...jobOf("c1", { path: "x" }), approvalId: "approval-1" };
    expect((await queue.run(job, never)).status).toBe("ok");
    expect(audit.lines[0]?.fields).toMatchObject({
      callId: "c1",
      input: '{"path":"x"}',
      attempt: 1,
      approvalId: "approval-1",
    });
    audit.failure = new RemoraError({ code: "audit.write", place: "audit log", message: "can't be written (ENOSPC)" });
    const result = await queue.run(jobOf("c2"), never);
    expect(result).toMatchObject({
      status: "failed",
      text: expect.stringContaining("unrecorded calls never run. [audit log] can't be written (ENOSPC)"),
    });
    expect(runs()).toBe(1);
  });

  test("words that may not be stored are in no record and in no file, also if they are too long or the call fails", async () => {
    for (const isOk of [true, false]) {
      const marker = `zq7-${isOk}`;
      const { queue, unstored } = open(
        () => `${marker} ${"word ".repeat(500)}`,
        ledger,
        [],
        () => ({ isOk, isEphemeral: true, isRetryable: false }),
      );
      const job = jobOf(`c-${isOk}`);
      const result = await queue.run(job, never);
      expect(result).toMatchObject({ status: isOk ? "ok" : "failed", text: notKeptText, isEphemeral: true });
      expect(unstored.get(resultKey(job.id))).toContain(marker);
      expect(unstored.get(resultKey(job.id))).toContain("the rest is not kept");
      expect(JSON.stringify(await ledger.get("call", job.id))).not.toContain(marker);
      await expect(readdir(join(workingFolder, "outputs"))).rejects.toMatchObject({ code: "ENOENT" });
    }
  });

  test("a result that can't be kept is given all the same", async () => {
    const { queue } = open(
      () => "it worked",
      failing((_step, to) => to === "done"),
    );
    expect(await queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok", text: "it worked" });
  });

  test("secrets reach neither the result, nor the ledger, nor the kept output; the event has the call as it is", async () => {
    const secret = "a-very-secret-value";
    const { queue, inputs } = open(() => `${secret} ${"x".repeat(2_000)} ${secret}`, ledger, [secret]);
    const result = await queue.run(jobOf("c1", { key: secret }), never);
    expect(result.text).not.toContain(secret);
    // Whoever writes events down masks them (audit/audit-log.ts).
    expect(inputs).toEqual([JSON.stringify({ key: secret })]);
    expect(JSON.stringify(await ledger.list("call", {}))).not.toContain(secret);
    const kept = await readFile(join(workingFolder, "outputs", "turn-c1.txt"), "utf8");
    expect(kept).not.toContain(secret);
    expect(kept.length).toBeGreaterThan(2_000);
  });

  test("an output is kept in the outputs folder, whatever the model calls its call", async () => {
    const { queue } = open(() => "x".repeat(2_000));
    await queue.run(jobOf("../../../escaped"), never);
    await queue.run(jobOf("..-..-..-escaped"), never);
    await queue.run(jobOf("n".repeat(400)), never);
    expect(await readdir(workingFolder)).toEqual(["outputs"]);
    expect((await readdir(join(workingFolder, "outputs"))).sort()).toHaveLength(3);
  });

  test("a cut never leaves half of a character", async () => {
    for (let shift = 0; shift < 4; shift += 1) {
      const { queue } = open(() => "y".repeat(shift) + "😀".repeat(1_500));
      const { text } = await queue.run(jobOf(`c${shift}`), never);
      expect(text.length).toBeLessThanOrEqual(1_000);
      expect(text.isWellFormed()).toBe(true);
    }
  });
});
