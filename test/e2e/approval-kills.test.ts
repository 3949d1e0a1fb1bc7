/** Attacks on approvals across kill -9, with the real process and the ledger of a killed one. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createApprovals } from "../../src/approvals/approvals.ts";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { ApprovalRecord } from "../../src/ports/approval.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundAnswer, JsonObject } from "../../src/ports/message.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createRecordedAudit } from "../doubles/audit.ts";
import type { SeenMessage } from "../doubles/chat-client.ts";
import { type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import * as world from "./approval-world.ts";
import {
  type Asked,
  ann,
  approvalOf,
  asked,
  ben,
  endOf,
  home,
  leave,
  listed,
  settled,
  written,
} from "./approval-world.ts";

let remora: RemoraProcess;

const begin = () =>
  world.begin(listed, async (where, env) => {
    remora = await startRemora(where, env);
    return remora;
  });

async function killRemora(): Promise<void> {
  leave();
  await remora.kill();
}

/** Changes made to a dead process's ledger. */
async function onLedger<T>(work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const ledger = createSqliteLedger({ path: join(home.data, "ledger.db") });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** A click whose process dies right after accepting it: no turn is woken and no card updated. */
async function clickAndDie({ card }: Asked, by: "ann" | "ben" = "ann"): Promise<void> {
  await onLedger(async (ledger) => {
    const approvals = createApprovals({
      ledger,
      audit: createRecordedAudit(),
      events: createEvents(),
      gate: createGate({ rules: { rules: [], shellParameters: new Map() }, matching: "extended" }),
      policy: { approvers: listed },
      wake: () => {},
      onSettled: () => new Promise(() => {}),
      remember: () => new Promise(() => {}),
      mask: (text) => text,
      log: silentLog,
    });
    const click: InboundAnswer = {
      platform: "local",
      conversationId: card.card?.target.conversationId ?? "",
      messageId: card.id,
      cardOrApprovalId: approvalOf(card),
      choice: "approve",
      by: { id: by, name: by === "ann" ? "Ann" : "Ben", isBot: false, roles: [] },
      at: Date.now(),
    };
    expect(await approvals.answer(click)).toMatchObject({ accepted: true });
  });
}

function changeRecord(card: SeenMessage, change: (body: ApprovalRecord) => ApprovalRecord) {
  return onLedger(async (ledger) => {
    const state = (await ledger.get("approval", approvalOf(card)))?.state ?? "open";
    return await ledger.transition("approval", approvalOf(card), [state], state, change);
  });
}

const changedTo = (mark: string) => ({ command: `echo changed >> ${mark}` });

async function consume(ledger: Ledger, { card }: Asked): Promise<ApprovalRecord> {
  const row = await ledger.transition("approval", approvalOf(card), ["approved"], "consumed");
  if (row === undefined) throw new Error("the approval is not approved");
  return row.body;
}

/** As if the process had died while the call ran. */
async function beginCall(ledger: Ledger, { turnId, call }: ApprovalRecord): Promise<void> {
  const body = { turnId, callId: call.id, name: call.name, attempts: 1, startedAt: Date.now() };
  await ledger.create("call", `${turnId}-${call.id}`, { state: "started", body, group: turnId });
}

async function changeJournal(ledger: Ledger, turnId: string, input: JsonObject): Promise<void> {
  const isChanged = await ledger.transition("turn", turnId, ["parked"], "parked", (turn) => ({
    ...turn,
    steps: turn.steps.map((step) => ({
      ...step,
      calls: step.calls.map(({ call, ...rest }) => (call === undefined ? rest : { ...rest, call: { ...call, input } })),
    })),
  }));
  expect(isChanged).toBeDefined();
}

/** A message that was kept, and whose conversation is gone. */
async function leaveMessage(ledger: Ledger, conversationId: string): Promise<void> {
  const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
  await ledger.create("message", "local:lost", {
    state: "queued",
    group: conversationId,
    body: {
      ...{ id: "lost", platform: "local", conversationId, scope: "channel:general", author, attachments: [] },
      ...{ text: "run echo ran >> lost.txt", isAddressed: true, isDirect: false, at: Date.now() },
    },
  });
}

const lostConversation = "local:channel:general:no-such-thread";
/** Settled before the kill. */
let replayed: { approved: Asked; denied: Asked };
/** Clicked right before the kill: with an answer, and without one. `far` has network access. */
let around: { answered: Asked; cutOff: Asked; far: Asked; farCutOff: Asked };
/** Changed in the ledger of the dead process. */
let unprocessed: Asked[];
let expired: Asked[];
let changed: Asked[];

async function expectReplaysRefused(): Promise<void> {
  for (const [{ card }, by] of [
    [replayed.approved, /Ann approved/],
    [replayed.denied, /Ann denied/],
  ] as const)
    for (const choice of ["approve", "deny", "allow"] as const)
      expect(await ann.click(card, choice)).toMatchObject({ accepted: false, text: expect.stringMatching(by) });
}

// One kill serves most tests, because the start of a process costs more than most of them.
beforeAll(async () => {
  await begin();
  const suffix = " with network example.com";
  replayed = { approved: await asked("replay.txt"), denied: await asked("replay-denied.txt") };
  await ann.click(replayed.approved.card, "approve");
  await ann.click(replayed.denied.card, "deny");
  await Promise.all([endOf(replayed.approved), endOf(replayed.denied)]);
  await expectReplaysRefused();
  const [taken, consumed, begun] = [await asked("taken.txt"), await asked("consumed.txt"), await asked("begun.txt")];
  const beyond = await asked("beyond.txt", { suffix });
  const [late, unused] = [await asked("late.txt"), await asked("late-consumed.txt")];
  const [record, journal] = [await asked("record.txt"), await asked("journal.txt")];
  unprocessed = [taken, consumed, begun, beyond];
  expired = [late, unused];
  changed = [record, journal];
  const turnId = journal.card.card?.target.turnId ?? "";
  // The card is there before its turn is parked, and only a parked turn is changed below.
  await vi.waitFor(() => onLedger(async (ledger) => expect((await ledger.get("turn", turnId))?.state).toBe("parked")));
  around = {
    ...{ answered: await asked("around.txt"), cutOff: await asked("around-cut.txt") },
    ...{ far: await asked("far.txt", { suffix }), farCutOff: await asked("far-cut.txt", { suffix }) },
  };
  for (const call of [around.answered, around.far]) await ann.click(call.card, "approve");
  const lost = [around.cutOff, around.farCutOff].map((call) => ann.click(call.card, "approve").catch(() => undefined));
  await killRemora();
  await Promise.all(lost);
  for (const call of [...unprocessed, ...expired, ...changed]) await clickAndDie(call);
  for (const { card } of expired) await changeRecord(card, (body) => ({ ...body, expiresAt: Date.now() }));
  await changeRecord(record.card, (body) => ({ ...body, call: { ...body.call, input: changedTo("record.txt") } }));
  await onLedger(async (ledger) => {
    await consume(ledger, consumed);
    await consume(ledger, unused);
    for (const call of [begun, beyond]) await beginCall(ledger, await consume(ledger, call));
    await changeJournal(ledger, turnId, changedTo("journal.txt"));
    await leaveMessage(ledger, lostConversation);
  });
  await begin();
});
afterAll(world.end);

describe("attacks on approvals, across kill -9", () => {
  test("a replayed click shows how the card was settled, even after a restart", async () => {
    await expectReplaysRefused();
    expect(await written(replayed.approved.mark)).toBe("ran\n");
    expect(await written(replayed.denied.mark)).toBe("");
  });

  test("an accepted click that was never processed runs its call once", async () => {
    const ends = [];
    for (const call of unprocessed) ends.push((await endOf(call)).text);
    // A call in a view leaves nothing and runs again; the outcome of one with network access is unknown.
    expect(ends[3]).toContain("interrupted");
    const marks = () => Promise.all(unprocessed.map(({ mark }) => written(mark)));
    expect(await marks()).toEqual(["ran\n", "ran\n", "ran\n", ""]);
    for (const call of unprocessed) {
      expect((await settled(call)).card?.items).toMatchObject([{ choices: [] }]);
      expect(await ann.click(call.card, "approve")).toMatchObject({ accepted: false });
    }
  });

  test("a call approved in time does not run after its expiry", async () => {
    for (const call of expired) {
      expect((await endOf(call)).text).toMatch(/expired/i);
      expect(await written(call.mark)).toBe("");
    }
  });

  test("a call whose stored arguments changed after approval does not run", async () => {
    for (const call of changed) {
      expect((await endOf(call)).text).toContain("has changed since the approval");
      expect((await settled(call)).card?.items).toMatchObject([{ state: "cancelled", choices: [] }]);
      expect(await written(call.mark)).toBe("");
    }
  });

  test("a call whose place is gone asks its requester directly, and does not run if it is denied", async () => {
    const card = await ann.waitFor(
      ({ place, card }) => place === "dm:ann" && JSON.stringify(card ?? "").includes("lost.txt"),
    );
    expect(await written("lost.txt")).toBe("");
    expect(await ann.click(card, "deny")).toMatchObject({ accepted: true });
    const ended = async (ledger: Ledger) => (await ledger.list("turn", { group: lostConversation }))[0]?.state;
    await expect.poll(() => onLedger(ended), { timeout: 10_000 }).toBe("done");
    expect(await written("lost.txt")).toBe("");
  });

  test("clicks right before a kill and right after the start run the call at most once, and nobody waits forever", async () => {
    const { answered, cutOff, far, farCutOff } = around;
    for (const call of [answered, cutOff, far, farCutOff]) {
      await ann.click(call.card, "approve");
      const end = await endOf(call);
      const times = async () => (await written(call.mark)).match(/ran/g)?.length ?? 0;
      // A draft is removed after its card says that it is kept. Until then, the mark stands in both.
      await expect.poll(times, { timeout: 10_000 }).toBeLessThanOrEqual(1);
      if (call === answered || call === cutOff) expect(await times()).toBe(1);
      if ((await times()) === 0) expect(end.text).toContain("interrupted");
    }
  });

  test("a call does not run if its approver lost the role", async () => {
    const call = await asked("role.txt");
    await killRemora();
    await clickAndDie(call, "ben");
    await world.begin(["requester"]);
    expect((await endOf(call)).text).toContain("no longer counts");
    expect(await written(call.mark)).toBe("");
    const next = await asked("role-next.txt");
    expect(await ben.click(next.card, "approve")).toMatchObject({ accepted: false });
    await ann.click(next.card, "deny");
    await endOf(next);
  });

  test("what ran does not run again after the next kill", async () => {
    expect(await Promise.all(unprocessed.map(({ mark }) => written(mark)))).toEqual(["ran\n", "ran\n", "ran\n", ""]);
  });
});
