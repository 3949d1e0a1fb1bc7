/** The forms of a card's buttons, in a store whose values expire. */
import { expect, test, vi } from "vitest";
import { createFormContents } from "../../../src/platforms/shared/form-contents.ts";
import { call, hour, request, setUp } from "../../approvals/approvals-fixture.ts";
import { createInMemoryStore } from "../../doubles/in-memory-store.ts";

test("forms are kept until the last call of the card expires", async () => {
  const store = createInMemoryStore();
  const set = vi.spyOn(store, "set");
  const desk = setUp({ policy: { expiryMs: hour } });
  desk.clock.now = Date.now();
  const [first, second] = [call("c1"), call("c2", { command: "rm other.txt" })];
  await desk.approvals.open(request("t1", [first]));
  desk.clock.now += hour / 2;
  const { card } = await desk.approvals.open(request("t1", [first, second]));
  expect(card.items).toHaveLength(2);
  await createFormContents(store, "slack").keep(card);
  const lifetimes = set.mock.calls.map(([, , ttlMs]) => ttlMs ?? 0);
  expect(lifetimes.length).toBeGreaterThanOrEqual(2);
  for (const ttlMs of lifetimes) expect(ttlMs).toBeGreaterThan(1.4 * hour);
});
