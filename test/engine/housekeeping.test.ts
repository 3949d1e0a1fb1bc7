import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createHousekeeping } from "../../src/engine/housekeeping.ts";
import { createPosts } from "../../src/engine/turn/posts.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { turnRecord } from "../doubles/records.ts";

const dayMs = 86_400_000;

let ledger: Ledger;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(async () => {
  vi.useRealTimers();
  await ledger.close();
});

async function cleanUp(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // One that fails does not stop the next one.
  const failing = () => Promise.reject(new Error("the disk is full"));
  const cleanUps = [failing, async () => resolve()];
  const housekeeping = createHousekeeping({ sweeps: {}, ledger, cleanUps, log: silentLog });
  housekeeping.start();
  await promise;
  await housekeeping.stop();
}

test("after thirty days what was posted is forgotten, but not by a turn that still waits for a person", async () => {
  for (const [id, state] of [
    ["ended", "done"],
    ["waiting", "parked"],
  ] as const) {
    await ledger.create("turn", id, { state, body: turnRecord({ id }), group: "c" });
    await createPosts(ledger, id, async () => {}).keep("card:1", `message of ${id}`);
  }
  for (let day = 0; day < 62; day += 31) {
    vi.setSystemTime(Date.now() + 31 * dayMs);
    await cleanUp();
  }
  const posts = await ledger.list("post", {});
  expect(posts.map(({ body }) => body.messageId)).toEqual(["message of waiting"]);
  expect((await ledger.list("turn", {})).map(({ id }) => id)).toEqual(["waiting"]);
});

test("a stop waits for the running clean-up and starts no other", async () => {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const did: string[] = [];
  const slow = async () => {
    begun.resolve();
    await end.promise;
    did.push("slow");
  };
  const next = async () => void did.push("next");
  const housekeeping = createHousekeeping({ sweeps: {}, ledger, cleanUps: [slow, next], log: silentLog });
  housekeeping.start();
  await begun.promise;
  const stopped = housekeeping.stop().then(() => did.push("stopped"));
  end.resolve();
  await stopped;
  expect(did).toEqual(["slow", "stopped"]);
});
