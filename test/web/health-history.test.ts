import { afterEach, beforeEach, expect, test } from "vitest";
import type { StatusLine } from "../../src/ports/health.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createHealthHistory } from "../../src/web/health-history.ts";
import { createDashboardWorld } from "./dashboard-world.ts";

const day = 86_400_000;
const minute = 60_000;
let ledger: Ledger;
let status: StatusLine[];
let isDown: boolean;

beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
  status = [{ name: "redis", state: "ok", detail: "connected" }];
  isDown = false;
});
afterEach(() => ledger.close());

function openHistory() {
  let id = 0;
  const create: Ledger["create"] = async (...entry) => {
    if (isDown) throw new Error("no connection to Redis");
    return await ledger.create(...entry);
  };
  return createHealthHistory({
    ...{ ledger: { ...ledger, create }, role: "all", status: () => status },
    newId: () => `h${id++}`,
    now: () => Date.now() + 8 * day,
  });
}

const states = async (history: ReturnType<typeof openHistory>) =>
  (await history.list({ limit: 50 })).changes.map(({ name, state, at }) => [name, state, at]);

test("only changes are noted, newest first, with a start", async () => {
  const history = openHistory();
  await history.note(1 * minute);
  await history.note(2 * minute);
  status = [{ name: "redis", state: "error", detail: "cut" }];
  await history.note(3 * minute);
  expect(await states(history)).toEqual([
    ["redis", "error", 3 * minute],
    ["redis", "ok", 1 * minute],
    ["process", "ok", 1 * minute],
  ]);
});

test("a part that changes all the time is noted at most every 10 seconds", async () => {
  const history = openHistory();
  for (let second = 0; second < 100; second++) {
    status = [{ name: "redis", state: second % 2 === 0 ? "ok" : "error", detail: "" }];
    await history.note(second * 1000);
  }
  expect((await states(history)).length).toBeLessThanOrEqual(11);
});

test("what happens while the ledger is away is noted once it is back, at the time when it happened", async () => {
  const history = openHistory();
  await history.note(1 * minute);
  isDown = true;
  status = [{ name: "redis", state: "error", detail: "cut" }];
  await expect(history.note(2 * minute)).rejects.toThrow("no connection");
  await expect(history.note(3 * minute)).rejects.toThrow("no connection");
  isDown = false;
  status = [{ name: "redis", state: "ok", detail: "connected" }];
  await history.note(4 * minute);
  expect((await states(history)).slice(0, 2)).toEqual([
    ["redis", "ok", 4 * minute],
    ["redis", "error", 2 * minute],
  ]);
});

test("after seven days, a change is forgotten", async () => {
  const history = openHistory();
  await history.note(minute);
  await history.prune();
  expect(await states(history)).toEqual([]);
});

test("while the ledger is away, the health page says so and still shows the parts", async () => {
  const world = await createDashboardWorld({
    history: { list: () => Promise.reject(new Error("no connection to Redis")) },
  });
  world.status = status;
  const data = await (await world.get("/dashboard/data/health")).json();
  expect(data).toMatchObject({ status, changes: [], historyProblem: "no connection to Redis" });
  await world.close();
});
