import { expect, test } from "vitest";
import { runIfDue } from "../../src/lib/periodic.ts";
import { createKeyvStore } from "../../src/storage/keyv/store.ts";

const week = 7 * 86_400_000;
const start = Date.UTC(2026, 10, 21);

test("work is done at first, then when its time is over, and again when it failed or the clock was set back", async () => {
  const store = createKeyvStore({ path: ":memory:" });
  let done = 0;
  let isBroken = false;
  const at = (now: number) =>
    runIfDue(
      store,
      {
        name: "cleaning",
        everyMs: week,
        async work() {
          if (isBroken) throw new Error("broken");
          done += 1;
        },
      },
      now,
    );
  expect(await at(start)).toBe(true);
  expect(await at(start)).toBe(false);
  expect(await at(start + week - 1)).toBe(false);
  expect(await at(start + week)).toBe(true);
  isBroken = true;
  await expect(at(start + 2 * week)).rejects.toThrow("broken");
  isBroken = false;
  expect(await at(start + 2 * week)).toBe(true);
  expect(await at(start)).toBe(true);
  expect(done).toBe(4);
  await store.close();
});
