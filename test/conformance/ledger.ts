/** The contract of every ledger: each sentence of src/ports/ledger.ts. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { GrantRecord } from "../../src/ports/approval.ts";
import type { CallEntry, CallState, Ledger } from "../../src/ports/ledger.ts";
import type { ScheduleRecord } from "../../src/ports/schedule.ts";
import { anyCharacter } from "../doubles/any-character.ts";

export interface LedgerHarness {
  /** A connection to the same state each time: a second one is another process, one after `close` is a restart. */
  open(): Promise<Ledger>;
  /** Closes what is still open and removes the state. */
  dispose(): Promise<void>;
}

const callStates: CallState[] = ["planned", "started", "waiting", "done", "unknown"];

function callBody(attempts = 0): CallEntry {
  return { turnId: "turn", callId: "call", name: "tool", attempts, startedAt: 1 };
}

const planned = { state: "planned" as const, body: callBody(), group: "turn" };

export function ledgerConformance(name: string, createHarness: () => Promise<LedgerHarness>): void {
  describe(`${name} keeps the ledger's contract`, () => {
    let harness: LedgerHarness;
    let ledger: Ledger;
    beforeEach(async () => {
      harness = await createHarness();
      ledger = await harness.open();
    });
    afterEach(() => harness.dispose());

    describe("create and get", () => {
      test("an entry is created once; the second create is refused and changes nothing", async () => {
        expect(await ledger.create("call", "a", planned)).toBe(true);
        expect(await ledger.create("call", "a", { state: "done", body: callBody(9), group: "other" })).toBe(false);
        expect(await ledger.get("call", "a")).toMatchObject({ id: "a", ...planned });
      });

      test("an unknown id is undefined", async () => {
        expect(await ledger.get("call", "nothing")).toBeUndefined();
      });

      test("the same id of two kinds is two entries", async () => {
        await ledger.create("call", "a", planned);
        expect(await ledger.create("post", "a", { state: "posted", body: { messageId: "1" }, group: "g" })).toBe(true);
        expect((await ledger.get("post", "a"))?.body).toEqual({ messageId: "1" });
        expect((await ledger.get("call", "a"))?.body).toEqual(callBody());
      });

      test("exactly one of 100 concurrent creates over two connections succeeds", async () => {
        const second = await harness.open();
        const tries = Array.from({ length: 100 }, (_, index) =>
          (index % 2 === 0 ? ledger : second).create("call", "a", { ...planned, body: callBody(index) }),
        );
        const won = (await Promise.all(tries)).flatMap((isMine, index) => (isMine ? [index] : []));
        expect(won).toHaveLength(1);
        expect((await second.get("call", "a"))?.body.attempts).toBe(won[0]);
      });

      test("changing a returned entry does not change the ledger", async () => {
        const body = callBody();
        const created = ledger.create("call", "a", { ...planned, body });
        body.attempts = 5;
        await created;
        const entry = await ledger.get("call", "a");
        if (entry !== undefined) entry.body.attempts = 7;
        expect((await ledger.get("call", "a"))?.body.attempts).toBe(0);
      });

      test("a body that can't be serialised rejects, and nothing is stored", async () => {
        const body: CallEntry & { self?: object } = callBody(1);
        body.self = body;
        await expect(ledger.create("call", "a", { ...planned, body })).rejects.toThrow(/circular/);
        expect(await ledger.get("call", "a")).toBeUndefined();
        await ledger.create("call", "a", planned);
        await expect(ledger.transition("call", "a", ["planned"], "started", () => body)).rejects.toThrow(/circular/);
        expect(await ledger.get("call", "a")).toMatchObject(planned);
      });

      test("changing a returned body after the transition does not change the ledger", async () => {
        await ledger.create("call", "a", planned);
        const live = callBody(1);
        const moved = await ledger.transition("call", "a", ["planned"], "started", () => live);
        live.attempts = 2;
        expect(moved?.body.attempts).toBe(1);
        expect((await ledger.get("call", "a"))?.body.attempts).toBe(1);
      });

      test("any text in a body, id or group is returned unchanged", async () => {
        const text = fc.string({ unit: anyCharacter });
        await fc.assert(
          fc.asyncProperty(text, text, text, async (messageId, group, rest) => {
            const id = `${rest}-${Math.random()}`;
            await ledger.create("post", id, { state: "posted", body: { messageId }, group });
            expect(await ledger.get("post", id)).toMatchObject({ id, group, body: { messageId } });
          }),
          { numRuns: 50 },
        );
      });
    });

    describe("transition", () => {
      test("moves an entry from one of the states, and returns it", async () => {
        await ledger.create("call", "a", planned);
        const before = await ledger.get("call", "a");
        const moved = await ledger.transition("call", "a", ["waiting", "planned"], "started", (body) => ({
          ...body,
          attempts: body.attempts + 1,
        }));
        expect(moved).toMatchObject({ id: "a", state: "started", group: "turn", body: callBody(1) });
        expect(moved?.sequence).toBe(before?.sequence);
        expect(moved?.createdAt).toBe(before?.createdAt);
        expect(moved?.updatedAt).toBeGreaterThanOrEqual(before?.updatedAt ?? Number.POSITIVE_INFINITY);
        expect(await ledger.get("call", "a")).toEqual(moved);
      });

      test("without a change the body stays", async () => {
        await ledger.create("call", "a", { ...planned, body: callBody(3) });
        expect(await ledger.transition("call", "a", ["planned"], "started")).toMatchObject({
          state: "started",
          body: callBody(3),
        });
      });

      test("returns undefined and changes nothing from another state", async () => {
        await ledger.create("call", "a", planned);
        const before = await ledger.get("call", "a");
        expect(await ledger.transition("call", "a", ["started"], "done", () => callBody(9))).toBeUndefined();
        expect(await ledger.transition("call", "a", ["started"], "done")).toBeUndefined();
        expect(await ledger.transition("call", "a", [], "done")).toBeUndefined();
        expect(await ledger.get("call", "a")).toEqual(before);
      });

      test("returns undefined for a missing entry, and creates none", async () => {
        expect(await ledger.transition("call", "a", ["planned"], "done", () => callBody())).toBeUndefined();
        expect(await ledger.transition("call", "a", ["planned"], "done")).toBeUndefined();
        expect(await ledger.get("call", "a")).toBeUndefined();
      });

      test("a change that returns undefined refuses the transition", async () => {
        await ledger.create("call", "a", planned);
        const before = await ledger.get("call", "a");
        expect(await ledger.transition("call", "a", ["planned"], "done", () => undefined)).toBeUndefined();
        expect(await ledger.get("call", "a")).toEqual(before);
      });

      test("a change that throws rejects, changes nothing, and leaves the ledger usable", async () => {
        await ledger.create("call", "a", planned);
        const broken = ledger.transition("call", "a", ["planned"], "done", () => {
          throw new Error("a bug in the change");
        });
        await expect(broken).rejects.toThrow("a bug in the change");
        expect((await ledger.get("call", "a"))?.state).toBe("planned");
        expect(await ledger.transition("call", "a", ["planned"], "done")).toBeDefined();
      });

      test("exactly one of 100 concurrent transitions over two connections succeeds", async () => {
        const second = await harness.open();
        await ledger.create("call", "a", planned);
        const tries = Array.from({ length: 100 }, (_, index) =>
          (index % 2 === 0 ? ledger : second).transition("call", "a", ["planned"], "started", () => callBody(index)),
        );
        const won = (await Promise.all(tries)).filter((entry) => entry !== undefined);
        expect(won).toHaveLength(1);
        expect(await ledger.get("call", "a")).toEqual(won[0]);
      });

      test("100 concurrent guarded changes over two connections all count", async () => {
        const second = await harness.open();
        await ledger.create("call", "a", planned);
        const changes = Array.from({ length: 100 }, (_, index) =>
          (index % 2 === 0 ? ledger : second).transition("call", "a", ["planned"], "planned", (body) => ({
            ...body,
            attempts: body.attempts + 1,
          })),
        );
        expect((await Promise.all(changes)).every((entry) => entry !== undefined)).toBe(true);
        expect((await second.get("call", "a"))?.body.attempts).toBe(100);
      });

      test("any sequence of operations matches a plain map", async () => {
        const step = fc.record({
          id: fc.constantFrom("a", "b", "c"),
          from: fc.uniqueArray(fc.constantFrom(...callStates)),
          to: fc.constantFrom(...callStates),
          kind: fc.constantFrom("create", "move", "change", "refuse"),
          attempts: fc.nat(1_000),
        });
        let run = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
            run += 1;
            const model = new Map<string, { state: CallState; attempts: number }>();
            for (const { id: short, from, to, kind, attempts } of steps) {
              const id = `${run}-${short}`;
              const known = model.get(id);
              if (kind === "create") {
                const isNew = await ledger.create("call", id, { ...planned, state: to, body: callBody(attempts) });
                expect(isNew).toBe(known === undefined);
                if (isNew) model.set(id, { state: to, attempts });
                continue;
              }
              const changeTo = kind === "refuse" ? undefined : callBody(attempts);
              const moved = await ledger.transition("call", id, from, to, kind === "move" ? undefined : () => changeTo);
              const isAllowed = known !== undefined && from.includes(known.state) && kind !== "refuse";
              expect(moved !== undefined).toBe(isAllowed);
              if (isAllowed) model.set(id, { state: to, attempts: kind === "move" ? known.attempts : attempts });
            }
            for (const [id, { state, attempts }] of model) {
              expect(await ledger.get("call", id)).toMatchObject({ state, body: callBody(attempts) });
            }
          }),
          { numRuns: 30 },
        );
      });
    });

    describe("list", () => {
      const ids = (entries: { id: string }[]) => entries.map((entry) => entry.id);

      beforeEach(async () => {
        for (const [id, state, group] of [
          ["a", "planned", "one"],
          ["b", "started", "two"],
          ["c", "planned", "two"],
          ["d", "done", "one"],
          ["e", "planned", "one"],
        ] as const) {
          await ledger.create("call", id, { state, group, body: callBody() });
        }
        await ledger.create("post", "p", { state: "posted", body: { messageId: "1" }, group: "one" });
      });

      test("lists one kind in order of creation, or newest first", async () => {
        expect(ids(await ledger.list("call", {}))).toEqual(["a", "b", "c", "d", "e"]);
        expect(ids(await ledger.list("call", { order: "oldest" }))).toEqual(["a", "b", "c", "d", "e"]);
        expect(ids(await ledger.list("call", { order: "newest" }))).toEqual(["e", "d", "c", "b", "a"]);
      });

      test("a change of state or body does not change the order", async () => {
        await ledger.transition("call", "a", ["planned"], "done");
        await ledger.transition("call", "c", ["planned"], "planned", () => callBody(4));
        expect(ids(await ledger.list("call", {}))).toEqual(["a", "b", "c", "d", "e"]);
      });

      test("filters by states, group or both; an empty list of states finds nothing", async () => {
        expect(ids(await ledger.list("call", { states: ["planned"] }))).toEqual(["a", "c", "e"]);
        expect(ids(await ledger.list("call", { states: ["done", "started"] }))).toEqual(["b", "d"]);
        expect(ids(await ledger.list("call", { group: "one" }))).toEqual(["a", "d", "e"]);
        expect(ids(await ledger.list("call", { states: ["planned"], group: "one" }))).toEqual(["a", "e"]);
        expect(await ledger.list("call", { states: [] })).toEqual([]);
        expect(await ledger.list("call", { group: "nobody" })).toEqual([]);
      });

      test("an entry is found under its new state and no longer under its old one", async () => {
        await ledger.transition("call", "a", ["planned"], "started");
        expect(ids(await ledger.list("call", { states: ["planned"] }))).toEqual(["c", "e"]);
        expect(ids(await ledger.list("call", { states: ["started"], group: "one" }))).toEqual(["a"]);
      });

      test("the limit counts from the chosen end", async () => {
        expect(ids(await ledger.list("call", { limit: 2 }))).toEqual(["a", "b"]);
        expect(ids(await ledger.list("call", { states: ["planned"], order: "newest", limit: 2 }))).toEqual(["e", "c"]);
      });

      test("lists only what was created before a sequence number, so that pages neither repeat nor skip", async () => {
        const [newest, second] = await ledger.list("call", { order: "newest", limit: 2 });
        const before = second?.sequence ?? 0;
        expect(ids(await ledger.list("call", { order: "newest", before, limit: 2 }))).toEqual(["c", "b"]);
        expect(ids(await ledger.list("call", { before }))).toEqual(["a", "b", "c"]);
        expect(ids(await ledger.list("call", { states: ["planned"], group: "one", before }))).toEqual(["a"]);
        const planned = await ledger.list("call", {
          states: ["planned"],
          order: "newest",
          before: newest?.sequence ?? 0,
        });
        expect(ids(planned)).toEqual(["c", "a"]);
      });

      test("finds the active schedules and grants that are due, and follows every change of the time and the state", async () => {
        const due = async (before: number) => [
          ...ids(await ledger.list("schedule", { dueBefore: before })),
          ...ids(await ledger.list("grant", { dueBefore: before })),
        ];
        const schedule = (nextAt: number) => ({ nextAt }) as ScheduleRecord;
        for (const at of [10, 20, 30])
          await ledger.create("schedule", `s${at}`, { state: "active", body: schedule(at), group: "g" });
        const grant = { expiresAt: 20 } as GrantRecord;
        await ledger.create("grant", "g20", { state: "active", body: grant, group: "g" });
        expect(await due(10)).toEqual([]);
        expect((await due(21)).sort()).toEqual(["g20", "s10", "s20"]);
        await ledger.transition("schedule", "s10", ["active"], "active", () => schedule(40));
        await ledger.transition("schedule", "s20", ["active"], "ended");
        await ledger.transition("schedule", "s30", ["active"], "active");
        expect((await due(31)).sort()).toEqual(["g20", "s30"]);
        await ledger.transition("grant", "g20", ["active"], "expired", (body) => body);
        await ledger.prune("schedule", ["active"], Date.now() + 60_000);
        expect(await due(100)).toEqual([]);
        expect(await ledger.list("call", { dueBefore: Date.now() + 60_000 })).toEqual([]);
      });

      test("entries are listed whole", async () => {
        const [first] = await ledger.list("call", { limit: 1 });
        expect(first).toEqual(await ledger.get("call", "a"));
      });
    });

    describe("prune", () => {
      test("removes only entries of these states that were last changed before that time", async () => {
        await ledger.create("call", "old", { ...planned, state: "done" });
        await ledger.create("call", "open", planned);
        await ledger.create("post", "other-kind", { state: "posted", body: { messageId: "1" }, group: "g" });
        const later = Date.now() + 1_000;
        expect(await ledger.prune("call", ["done", "unknown"], 1)).toBe(0);
        expect(await ledger.prune("call", ["done", "unknown"], later)).toBe(1);
        expect(await ledger.get("call", "old")).toBeUndefined();
        expect(await ledger.get("call", "open")).toBeDefined();
        expect(await ledger.get("post", "other-kind")).toBeDefined();
        expect(await ledger.list("call", { group: "turn" })).toHaveLength(1);
      });

      test("a pruned id can be used again, and sorts after earlier entries", async () => {
        await ledger.create("call", "a", planned);
        const highest = (await ledger.get("call", "a"))?.sequence ?? Number.POSITIVE_INFINITY;
        await ledger.prune("call", ["planned"], Date.now() + 1_000);
        expect(await ledger.create("call", "a", planned)).toBe(true);
        expect((await ledger.get("call", "a"))?.sequence).toBeGreaterThan(highest);
      });
    });

    describe("restart and close", () => {
      test("everything survives a restart, and the order continues", async () => {
        await ledger.create("call", "a", planned);
        await ledger.transition("call", "a", ["planned"], "started", () => callBody(1));
        const before = await ledger.list("call", {});
        await ledger.close();
        const again = await harness.open();
        expect(await again.list("call", {})).toEqual(before);
        await again.create("call", "b", planned);
        expect((await again.list("call", {})).map((entry) => entry.id)).toEqual(["a", "b"]);
      });

      test("another connection sees a change as soon as its promise has resolved", async () => {
        const second = await harness.open();
        await ledger.create("call", "a", planned);
        expect((await second.get("call", "a"))?.state).toBe("planned");
        await second.transition("call", "a", ["planned"], "done");
        expect((await ledger.get("call", "a"))?.state).toBe("done");
      });

      test("a closed ledger rejects, and can be closed again", async () => {
        await ledger.close();
        await ledger.close();
        await expect(ledger.get("call", "a")).rejects.toThrow(/closed/);
        await expect(ledger.create("call", "a", planned)).rejects.toThrow(/closed/);
      });
    });
  });
}
