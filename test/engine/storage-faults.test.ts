/**
 * A whole turn (message, model, approval, tool, answer, memory) in which one write to storage fails, for each write. Whatever the
 * fault, the tool has its effect once, the message is answered once, and no card is left open.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { createConversations } from "../../src/engine/conversation/conversations.ts";
import { createPosts } from "../../src/engine/turn/posts.ts";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { isTransientStorageError } from "../../src/lib/transient-errors.ts";
import type { BusMessage } from "../../src/ports/cluster.ts";
import type { Conversations } from "../../src/ports/conversation.ts";
import type { Provider } from "../../src/ports/provider.ts";
import { createDelivery } from "../../src/response/deliver.ts";
import { createDamagedRecords } from "../../src/storage/damaged-records.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createKeyvStore } from "../../src/storage/keyv/store.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createEmbeddedQueue } from "../../src/tool-queue/embedded/queue.ts";
import { ann, setUp } from "../approvals/approvals-fixture.ts";
import { createRecordedAudit } from "../doubles/audit.ts";
import { failWrites, lastingFaults, transientFaults } from "../doubles/failing-storage.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, says } from "../doubles/scripted-provider.ts";
import { createStageDoubles } from "../doubles/turn-deps.ts";

const outputs = mkdtempSync(join(tmpdir(), "remora-faults-"));
afterAll(() => rmSync(outputs, { recursive: true }));

const never = Number.POSITIVE_INFINITY;
const maxRounds = 60;
const message = inboundMessage({ id: "m1", text: "clean up", author: ann, conversationId: "test:C1", scope: "dm:ann" });

interface Trouble {
  at: number;
  times?: number;
  fault: () => unknown;
  /** Bookkeeping that always fails. */
  broken?: Error;
}

/** What a person saw and what happened. */
interface Outcome {
  writes: number;
  failed: string[];
  effects: number;
  requests: number;
  answers: string[];
  failures: string[];
  states: (string | undefined)[];
  openCards: number;
  receipts: number;
}

async function runWholeTurn({ broken, ...trouble }: Trouble): Promise<Outcome> {
  const stored = { ledger: createSqliteLedger({ path: ":memory:" }), store: createKeyvStore({ path: ":memory:" }) };
  const faulty = failWrites(stored, trouble);
  const { ledger } = faulty;
  const late: { conversations?: Conversations } = {};
  const shown = new Map<string, { text: string; end: "open" | "finished" | "failed" }>();
  const cards = new Map<string, string[]>();
  let [effects, requests, receipts] = [0, 0, 0];

  const provider: Provider = {
    name: "scripted",
    model: "scripted/one",
    async *stream(request) {
      requests += 1;
      const hasRun = request.messages.some(({ role }) => role === "tool");
      yield* hasRun ? says("It is gone.") : calls({ id: "c1", name: "shell_exec", input: { command: "rm notes.txt" } });
    },
  };
  const desk = setUp(
    {
      wake: (turnId) => void late.conversations?.wake(turnId),
      onSettled: async (card) => {
        cards.set(
          card.id,
          card.items.map(({ state }) => state),
        );
      },
      now: Date.now,
    },
    ledger,
  );
  const doubles = createStageDoubles({
    steps: [],
    ledger,
    tools: [toolSpec("shell_exec")],
    judge: () => "confirm",
    approvals: desk.approvals,
  });
  const toolbox = {
    specs: () => [toolSpec("shell_exec")],
    async run() {
      effects += 1;
      return { isOk: true, text: "removed", files: [], isRetryable: false };
    },
  };
  const queue = createEmbeddedQueue({
    ephemeral: { put() {} },
    ...{ ledger, toolbox, log: silentLog, events: createEvents(), audit: createRecordedAudit() },
    ...{ backoff: [1], outputLimit: 1_000, outputsFolder: () => outputs, redact: (text: string) => text },
    concurrency: 2,
  });

  /** Like a platform: a message is posted once per key, and its id is kept afterwards. */
  async function post(turnId: string, key: string, text: string, end: "open" | "finished" | "failed" = "open") {
    shown.set(`${turnId}:${key}`, { text, end });
    await createPosts(ledger, turnId, async () => {}).keep(key, `id of ${key}`);
  }
  const deliver: typeof doubles.stages.deliver = async ({ turnId }) =>
    createDelivery({
      reply: {
        ...doubles.reply,
        write: (text) => post(turnId, "text", text),
        async ask(card) {
          cards.set(
            card.id,
            card.items.map(({ state }) => state),
          );
          await post(turnId, `card:${card.id}`, "card");
        },
        finish: (text, _files, _footer, notes) =>
          post(turnId, "answer", [text, notes].filter(Boolean).join("\n\n"), "finished"),
        fail: (text, reason) => post(turnId, "answer", text + reason, "failed"),
      },
      redact: (text) => text,
      log: silentLog,
    });
  const breakable = broken === undefined ? async () => {} : () => Promise.reject(broken);
  const stages = {
    ...doubles.stages,
    ...{ provider, queue, deliver },
    taskFiles: { save: breakable },
    memory: { ...doubles.stages.memory, saveEpisode: breakable, recordFeedback: breakable },
    context: {
      ...doubles.stages.context,
      remember: () => faulty.store.set("history", "said"),
    },
  };
  const conversations = createConversations({
    ...{ ledger, log: silentLog, events: createEvents(), leases: createInMemoryLeases() },
    bus: createInMemoryBus(silentLog),
    takesTurns: true,
    resumeOrphansEveryMs: 0,
    serves: async () => true,
    overlap: "queue",
    concurrency: 10,
    run: (turn, signal) => runTurn(turn, stages, signal),
    onCrash: async ({ id }) => void shown.set(`${id}:crash`, { text: "crashed", end: "failed" }),
    cancelApprovals: (turnId) => desk.approvals.cancel(turnId),
    settleDecided: async () => {},
    workingFolder: () => "/files/dm_ann",
    openReply: async () => undefined,
    lookAgain: async () => {},
  });
  late.conversations = conversations;

  // What the platform, the person and the housekeeping do, again and again: each must get through in the end.
  let isAccepted = false;
  for (let round = 0; round < maxRounds; round += 1) {
    const tried = async (work: () => Promise<unknown>) => {
      try {
        await work();
        return true;
      } catch (thrown) {
        if (isTransientStorageError(thrown)) return false;
        throw thrown;
      }
    };
    if (!isAccepted) isAccepted = await tried(() => conversations.accept(message));
    await conversations.whenIdle();
    const [open] = await stored.ledger.list("approval", { states: ["open"] });
    const isParked = (await stored.ledger.list("turn", { states: ["parked"] })).length > 0;
    if (open !== undefined && isParked) {
      await tried(async () => {
        const receipt = await desk.approvals.answer({
          ...{ platform: "test", conversationId: "test:C1", cardOrApprovalId: open.body.cardId, choice: "approve" },
          ...{ by: ann, at: Date.now() },
        });
        if (receipt.accepted) receipts += 1;
      });
    }
    await tried(() => desk.approvals.sweep(Date.now()));
    await desk.approvals.whenIdle();
    await tried(() => conversations.sweep());
    await conversations.whenIdle();
    const [entry] = await stored.ledger.list("message", {});
    const due = await stored.ledger.list("notice", { states: ["due"] });
    if (entry?.state === "answered" && due.length === 0) break;
  }
  await conversations.close(AbortSignal.abort());
  await queue.close();
  const [turns, messages] = [await stored.ledger.list("turn", {}), await stored.ledger.list("message", {})];
  await stored.ledger.close();
  await stored.store.close();
  const answers = [...shown.values()];
  return {
    writes: faulty.writes(),
    failed: faulty.failed,
    effects,
    requests,
    receipts,
    answers: answers.filter(({ end }) => end === "finished").map(({ text }) => text),
    failures: answers.filter(({ end }) => end === "failed").map(({ text }) => text),
    states: [...turns, ...messages].map(({ state }) => state),
    openCards: [...cards.values()].flat().filter((state) => state === "open").length,
  };
}

const asIfNothing = {
  effects: 1,
  answers: ["It is gone."],
  failures: [],
  states: ["done", "answered"],
  openCards: 0,
};

const noFault = { at: never, fault: () => new Error("never thrown") };

describe("a write that fails once", () => {
  test("is counted: the turn has many", async () => {
    const whole = await runWholeTurn(noFault);
    expect(whole).toMatchObject({ ...asIfNothing, requests: 2, receipts: 1 });
    expect(whole.writes).toBeGreaterThan(20);
  });

  test.each([
    { name: "one failure", times: 1, every: 1 },
    { name: "three in a row", times: 3, every: 3 },
  ])("anywhere in the turn, changes nothing for people: $name", async ({ times, every }) => {
    const { writes } = await runWholeTurn(noFault);
    const kinds = Object.entries(transientFaults);
    for (let at = 1; at <= writes; at += every) {
      const [kind, fault] = kinds[at % kinds.length] ?? ["", () => undefined];
      const outcome = await runWholeTurn({ at, times, fault });
      expect({ at, kind, ...outcome }).toMatchObject({ at, kind, ...asIfNothing });
    }
  });

  test.each(Object.entries(transientFaults))(
    "%s at the steps that matter most changes nothing either",
    async (_name, fault) => {
      const { writes } = await runWholeTurn(noFault);
      for (const at of [2, Math.floor(writes / 2), writes - 3])
        expect(await runWholeTurn({ at, fault })).toMatchObject(asIfNothing);
    },
  );
});

test("faults that waiting does not end are told from those that pass", () => {
  for (const [name, fault] of Object.entries(transientFaults))
    expect([name, isTransientStorageError(fault())]).toEqual([name, true]);
  for (const [name, fault] of Object.entries(lastingFaults))
    expect([name, isTransientStorageError(fault())]).toEqual([name, false]);
});

test("task files, feedback and episodes that can't be written do not fail a turn whose effect happened", async () => {
  const outcome = await runWholeTurn({ ...noFault, broken: new Error("EACCES: permission denied") });
  expect(outcome).toMatchObject({
    ...asIfNothing,
    answers: [expect.stringMatching(/^It is gone\.\n\n\*\(I could not save/)],
  });
});

test("a damaged turn does not keep the others from resuming at a start", async () => {
  const path = join(outputs, "ledger.db");
  const before = createSqliteLedger({ path });
  for (const id of ["t1", "t2", "t3"]) {
    const conversationId = `test:${id}`;
    const body = turnRecord({ id, conversationId, messages: [inboundMessage({ id, conversationId })] });
    await before.create("turn", id, { state: "running", body, group: conversationId });
  }
  await before.close();
  const raw = new DatabaseSync(path);
  raw.exec("UPDATE entry SET body = substr(body, 1, 40) WHERE id = 't1'; UPDATE entry SET body = '{}' WHERE id = 't2'");
  raw.close();
  const damaged = createDamagedRecords(silentLog);
  const ledger = createSqliteLedger({ path, damaged });
  const ran: string[] = [];
  const conversations = createConversations({
    ...{ ledger, log: silentLog, events: createEvents(), leases: createInMemoryLeases() },
    bus: createInMemoryBus(silentLog),
    takesTurns: true,
    resumeOrphansEveryMs: 0,
    serves: async () => true,
    overlap: "queue",
    concurrency: 10,
    async run({ id }) {
      ran.push(id);
      return "suspended";
    },
    onCrash: async () => {},
    cancelApprovals: async () => {},
    settleDecided: async () => {},
    workingFolder: () => "/nowhere",
    openReply: async () => undefined,
    lookAgain: async () => {},
  });
  await conversations.recover();
  await conversations.whenIdle();
  expect(ran).toContain("t3");
  expect(damaged.list()).toEqual(["turn t1"]);
  await conversations.close(AbortSignal.abort());
  await ledger.close();
});

test("storage that refuses every write keeps no process from starting, and answered turns resume when it writes again", async () => {
  const stored = createSqliteLedger({ path: ":memory:" });
  for (const id of ["running", "parked"] as const) {
    const conversationId = `test:${id}`;
    const body = turnRecord({ id, conversationId, messages: [inboundMessage({ id, conversationId })] });
    await stored.create("turn", id, { state: id, body, group: conversationId });
  }
  let isFull = true;
  const ledger: typeof stored = {
    ...stored,
    transition: async (...args) => {
      if (isFull) throw transientFaults.SQLITE_FULL?.();
      return await stored.transition(...args);
    },
  };
  const published: BusMessage[] = [];
  const bus = createInMemoryBus(silentLog);
  bus.listen((message) => void published.push(message));
  const ran: string[] = [];
  const conversations = createConversations({
    ...{ ledger, bus, log: silentLog, events: createEvents(), leases: createInMemoryLeases() },
    ...{ takesTurns: true, resumeOrphansEveryMs: 0, serves: async () => true, overlap: "queue", concurrency: 10 },
    async run({ id }) {
      ran.push(id);
      return "suspended";
    },
    ...{ onCrash: async () => {}, cancelApprovals: async () => {}, settleDecided: async () => {} },
    ...{ workingFolder: () => "/nowhere", openReply: async () => undefined, lookAgain: async () => {} },
  });
  await conversations.recover();
  await conversations.wake("parked");
  await conversations.whenIdle();
  expect(published).toContainEqual(expect.objectContaining({ type: "work", turnId: "parked" }));
  expect(ran).toEqual([]);
  isFull = false;
  await conversations.sweep();
  await conversations.whenIdle();
  expect(ran.sort()).toEqual(["parked", "running"]);
  await conversations.close(AbortSignal.abort());
  await stored.close();
});
