/** Attacks on approvals across kill -9, with the real process and the ledger of a killed one. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createApprovals } from "../../src/approvals/approvals.ts";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { ApprovalRecord } from "../../src/ports/approval.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundAnswer } from "../../src/ports/message.ts";
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

const begin = (approvers = listed) =>
  world.begin(approvers, async (where, env) => {
    remora = await startRemora(where, env);
    return remora;
  });

async function killRemora(): Promise<void> {
  leave();
  await remora.kill();
}

beforeAll(() => begin());
afterAll(world.end);

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

describe("attacks on approvals, across kill -9", () => {
  test("a replayed click shows how the card was settled, even after a restart", async () => {
    const [approved, denied] = [await asked("replay.txt"), await asked("replay-denied.txt")];
    await ann.click(approved.card, "approve");
    await ann.click(denied.card, "deny");
    await Promise.all([endOf(approved), endOf(denied)]);
    for (let start = 0; start < 2; start += 1) {
      for (const choice of ["approve", "deny", "allow"] as const) {
        expect(await ann.click(approved.card, choice)).toMatchObject({
          accepted: false,
          text: expect.stringMatching(/Ann approved/),
        });
        expect(await ann.click(denied.card, choice)).toMatchObject({
          accepted: false,
          text: expect.stringMatching(/Ann denied/),
        });
      }
      if (start > 0) break;
      await killRemora();
      await begin();
    }
    expect(await written(approved.mark)).toBe("ran\n");
    expect(await written(denied.mark)).toBe("");
  });

  test("an accepted click that was never processed runs its call once", async () => {
    const [taken, consumed] = [await asked("taken.txt"), await asked("consumed.txt")];
    const [begun, beyond] = [
      await asked("begun.txt"),
      await asked("beyond.txt", { suffix: " with network example.com" }),
    ];
    const all = [taken, consumed, begun, beyond];
    await killRemora();
    for (const call of all) await clickAndDie(call);
    await onLedger(async (ledger) => {
      for (const { card } of [consumed, begun, beyond]) {
        const row = await ledger.transition("approval", approvalOf(card), ["approved"], "consumed");
        if (card === consumed.card || row === undefined) continue;
        const { turnId, call } = row.body;
        const body = { turnId, callId: call.id, name: call.name, attempts: 1, startedAt: Date.now() };
        await ledger.create("call", `${turnId}-${call.id}`, { state: "started", body, group: turnId });
      }
    });
    await begin();
    const ends = [];
    for (const call of all) ends.push((await endOf(call)).text);
    // A call in a view leaves nothing and runs again; the outcome of one with network access is unknown.
    expect(ends[3]).toContain("interrupted");
    expect(await Promise.all(all.map(({ mark }) => written(mark)))).toEqual(["ran\n", "ran\n", "ran\n", ""]);
    for (const call of all) {
      expect((await settled(call)).card?.items).toMatchObject([{ choices: [] }]);
      expect(await ann.click(call.card, "approve")).toMatchObject({ accepted: false });
    }
    await killRemora();
    await begin();
    expect(await Promise.all(all.map(({ mark }) => written(mark)))).toEqual(["ran\n", "ran\n", "ran\n", ""]);
  });

  test("clicks right before a kill and right after the start run the call at most once, and nobody waits forever", async () => {
    const suffix = " with network example.com";
    const [answered, cutOff] = [await asked("around.txt"), await asked("around-cut.txt")];
    const [far, farCutOff] = [await asked("far.txt", { suffix }), await asked("far-cut.txt", { suffix })];
    for (const call of [answered, far]) await ann.click(call.card, "approve");
    const lost = [cutOff, farCutOff].map((call) => ann.click(call.card, "approve").catch(() => undefined));
    await killRemora();
    await Promise.all(lost);
    await begin();
    for (const call of [answered, cutOff, far, farCutOff]) {
      await ann.click(call.card, "approve");
      const end = await endOf(call);
      const times = (await written(call.mark)).match(/ran/g)?.length ?? 0;
      if (call === answered || call === cutOff) expect(times).toBe(1);
      expect(times).toBeLessThanOrEqual(1);
      if (times === 0) expect(end.text).toContain("interrupted");
    }
  });

  test("a call approved in time does not run after its expiry", async () => {
    const [late, unused] = [await asked("late.txt"), await asked("late-consumed.txt")];
    await killRemora();
    for (const call of [late, unused]) {
      await clickAndDie(call);
      await changeRecord(call.card, (body) => ({ ...body, expiresAt: Date.now() }));
    }
    await onLedger((ledger) => ledger.transition("approval", approvalOf(unused.card), ["approved"], "consumed"));
    await begin();
    for (const call of [late, unused]) {
      expect((await endOf(call)).text).toMatch(/expired/i);
      expect(await written(call.mark)).toBe("");
    }
  });

  test("a call whose stored arguments changed after approval does not run", async () => {
    const [record, journal] = [await asked("record.txt"), await asked("journal.txt")];
    const turnId = journal.card.card?.target.turnId ?? "";
    // The card is there before its turn is parked, and only a parked turn is changed below.
    await vi.waitFor(() =>
      onLedger(async (ledger) => expect((await ledger.get("turn", turnId))?.state).toBe("parked")),
    );
    await killRemora();
    for (const call of [record, journal]) await clickAndDie(call);
    const changed = { command: "echo changed >> record.txt" };
    await changeRecord(record.card, (body) => ({ ...body, call: { ...body.call, input: changed } }));
    await onLedger(async (ledger) => {
      const isChanged = await ledger.transition("turn", turnId, ["parked"], "parked", (turn) => ({
        ...turn,
        steps: turn.steps.map((step) => ({
          ...step,
          calls: step.calls.map(({ call, ...rest }) =>
            call === undefined
              ? rest
              : { ...rest, call: { ...call, input: { command: "echo changed >> journal.txt" } } },
          ),
        })),
      }));
      expect(isChanged).toBeDefined();
    });
    await begin();
    for (const call of [record, journal]) {
      expect((await endOf(call)).text).toContain("has changed since the approval");
      expect((await settled(call)).card?.items).toMatchObject([{ state: "cancelled", choices: [] }]);
      expect(await written(call.mark)).toBe("");
    }
  });

  test("a call does not run if its approver lost the role", async () => {
    const call = await asked("role.txt");
    await killRemora();
    await clickAndDie(call, "ben");
    await begin(["requester"]);
    expect((await endOf(call)).text).toContain("no longer counts");
    expect(await written(call.mark)).toBe("");
    const next = await asked("role-next.txt");
    expect(await ben.click(next.card, "approve")).toMatchObject({ accepted: false });
    await ann.click(next.card, "deny");
    await endOf(next);
  });

  test("a call does not run if its card can't be delivered", async () => {
    await killRemora();
    const conversationId = "local:channel:general:no-such-thread";
    const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
    await onLedger((ledger) =>
      ledger.create("message", "local:lost", {
        state: "queued",
        group: conversationId,
        body: {
          ...{ id: "lost", platform: "local", conversationId, scope: "channel:general", author, attachments: [] },
          ...{ text: "run echo ran >> lost.txt", isAddressed: true, isDirect: false, at: Date.now() },
        },
      }),
    );
    await begin();
    await vi.waitFor(
      () =>
        onLedger(async (ledger) => {
          const [turn] = await ledger.list("turn", { group: conversationId });
          expect(["done", "failed"]).toContain(turn?.state);
        }),
      { timeout: 10_000, interval: 100 },
    );
    const [approval] = await onLedger(async (ledger) =>
      (await ledger.list("approval", {})).filter(({ body }) => body.conversationId === conversationId),
    );
    expect(approval).toMatchObject({
      state: "cancelled",
      body: { reason: expect.stringContaining("could not be shown") },
    });
    expect(await written("lost.txt")).toBe("");
  });
});
