/** The contract of leases and buses: each sentence of src/ports/cluster.ts. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Bus, BusMessage, Leases } from "../../src/ports/cluster.ts";
import { anyCharacter } from "../doubles/any-character.ts";

export interface CoordinationHarness {
  /** Another process on the same state each time; those that are for one process alone are opened once. */
  open(): { leases: Leases; bus: Bus };
  dispose(): Promise<void>;
}

export interface CoordinationKind {
  /** For a single process on its own ledger. */
  isSole: boolean;
}

const work: BusMessage = { type: "work", conversationId: "c" };

export function coordinationConformance(
  name: string,
  { isSole }: CoordinationKind,
  createHarness: () => Promise<CoordinationHarness>,
): void {
  describe(`${name} keep the cluster's contract`, () => {
    let harness: CoordinationHarness;
    let leases: Leases;
    let bus: Bus;
    beforeEach(async () => {
      harness = await createHarness();
      ({ leases, bus } = harness.open());
    });
    afterEach(() => harness.dispose());

    describe("leases", () => {
      test("a free name is granted, and a held one is refused", async () => {
        const lease = await leases.acquire("a");
        expect(lease?.signal.aborted).toBe(false);
        expect(await leases.acquire("a")).toBeUndefined();
        expect(await leases.acquire("b")).toBeDefined();
        expect(lease?.signal.aborted).toBe(false);
      });

      test("a released name can be acquired again", async () => {
        const first = await leases.acquire("a");
        await first?.release();
        const second = await leases.acquire("a");
        expect(second?.signal.aborted).toBe(false);
        expect(await leases.acquire("a")).toBeUndefined();
      });

      test("exactly one of 100 concurrent requests succeeds", async () => {
        const asked = await Promise.all(Array.from({ length: 100 }, () => leases.acquire("a")));
        expect(asked.filter((lease) => lease !== undefined)).toHaveLength(1);
      });

      test("any text can be a name, and different names are independent", async () => {
        const names = fc.uniqueArray(fc.string({ unit: anyCharacter }), { maxLength: 10 });
        await fc.assert(
          fc.asyncProperty(names, async (wanted) => {
            const held = await Promise.all(wanted.map((each) => leases.acquire(each)));
            expect(held.every((lease) => lease !== undefined)).toBe(true);
            await Promise.all(held.map((lease) => lease?.release()));
          }),
          { numRuns: 20 },
        );
      });

      test("closing twice is harmless", async () => {
        await leases.acquire("a");
        await leases.close();
        await leases.close();
      });
    });

    describe("the bus", () => {
      test("each listener receives a message once, in the same tick, until it stops listening", () => {
        const heard: string[] = [];
        const stop = bus.listen((message) => heard.push(`one ${message.type}`));
        bus.listen((message) => heard.push(`two ${message.type}`));
        bus.publish(work);
        expect(heard).toEqual(["one work", "two work"]);
        stop();
        stop();
        bus.publish(work);
        expect(heard).toEqual(["one work", "two work", "two work"]);
      });

      test("publishing without listeners does nothing, and nobody receives messages after closing", async () => {
        bus.publish(work);
        const heard = vi.fn();
        bus.listen(heard);
        await bus.close();
        await bus.close();
        bus.publish(work);
        expect(heard).not.toHaveBeenCalled();
      });

      test("a listener can remove itself and add another during delivery", () => {
        const heard: string[] = [];
        const stop = bus.listen(() => {
          heard.push("first");
          stop();
          bus.listen(() => heard.push("second"));
        });
        bus.publish(work);
        heard.length = 0;
        bus.publish(work);
        expect(heard).toEqual(["second"]);
      });
    });

    if (isSole) return;
    describe("over several processes", () => {
      test("a held name is refused to other processes until it is released", async () => {
        const other = harness.open();
        const lease = await leases.acquire("a");
        expect(await other.leases.acquire("a")).toBeUndefined();
        await lease?.release();
        expect(await other.leases.acquire("a")).toBeDefined();
        expect(await leases.acquire("a")).toBeUndefined();
      });

      test("a second release does not affect the new holder", async () => {
        const other = harness.open();
        const lease = await leases.acquire("a");
        await lease?.release();
        const theirs = await other.leases.acquire("a");
        await lease?.release();
        expect(await leases.acquire("a")).toBeUndefined();
        expect(theirs?.signal.aborted).toBe(false);
      });

      test("closing releases everything", async () => {
        const other = harness.open();
        const names = Array.from({ length: 20 }, (_, index) => `name ${index}`);
        await Promise.all(names.map((each) => leases.acquire(each)));
        await leases.close();
        const theirs = await Promise.all(names.map((each) => other.leases.acquire(each)));
        expect(theirs.every((lease) => lease !== undefined)).toBe(true);
      });

      test("at most one process holds a name at any time", async () => {
        const several = [leases, harness.open().leases, harness.open().leases];
        let inside = 0;
        let most = 0;
        const turns = new Array<number>(several.length).fill(0);
        const run = async (mine: Leases, index: number) => {
          while ((turns[index] ?? 0) < 20) {
            const lease = await mine.acquire("a");
            if (lease === undefined) continue;
            inside += 1;
            most = Math.max(most, inside);
            await new Promise((done) => setImmediate(done));
            inside -= 1;
            turns[index] = (turns[index] ?? 0) + 1;
            await lease.release();
          }
        };
        await Promise.all(several.map(run));
        expect(most).toBe(1);
      });

      test("every process receives each message once, unchanged and in order", async () => {
        const others = [harness.open().bus, harness.open().bus];
        const own: BusMessage[] = [];
        const heard = others.map((each) => {
          const messages: BusMessage[] = [];
          each.listen((message) => messages.push(message));
          return messages;
        });
        await untilHeard(bus, heard);
        bus.listen((message) => own.push(message));
        for (const messages of heard) messages.length = 0;

        const said = fc.sample(anyMessage, { numRuns: 50, seed: 7 });
        for (const message of said) bus.publish(message);
        expect(own).toEqual(said);
        const end: BusMessage = { type: "changed", kind: "the", id: "end" };
        bus.publish(end);
        for (const messages of heard) {
          await vi.waitFor(() => expect(messages.at(-1)).toEqual(end));
          expect(messages).toEqual([...said, end]);
        }
        expect(own).toEqual([...said, end]);
      });

      test("a throwing listener stops neither the publisher nor other listeners", () => {
        const heard: BusMessage[] = [];
        bus.listen(() => {
          throw new Error("as a bug");
        });
        bus.listen((message) => heard.push(message));
        bus.publish(work);
        expect(heard).toEqual([work]);
      });
    });
  });
}

const text = fc.string({ unit: anyCharacter });
const cause = fc.constantFrom("stopped" as const, "interrupted" as const, "shutdown" as const);
const anyMessage: fc.Arbitrary<BusMessage> = fc.oneof(
  fc.record({ type: fc.constant("work" as const), conversationId: text }),
  fc.record({ type: fc.constant("work" as const), conversationId: text, turnId: text }),
  fc.record({ type: fc.constant("abort" as const), conversationId: text, turnId: text, cause }),
  fc.record({ type: fc.constant("abort" as const), conversationId: text, cause }),
  fc.record({ type: fc.constant("cancel-job" as const), jobId: text, cause }),
  fc.record({ type: fc.constant("changed" as const), kind: text, id: text }),
);

/** A process receives messages only after it has subscribed, at an unspecified time. */
async function untilHeard(bus: Bus, heard: BusMessage[][]): Promise<void> {
  await vi.waitFor(() => {
    bus.publish(work);
    if (heard.some((messages) => messages.length === 0)) throw new Error("not heard yet");
  });
  // Earlier messages arrive before this.
  const end: BusMessage = { type: "changed", kind: "all", id: "subscribed" };
  bus.publish(end);
  for (const messages of heard) await vi.waitFor(() => expect(messages.at(-1)).toEqual(end));
}
