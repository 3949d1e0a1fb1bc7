/** Texts that are in memory alone. */
import { expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createEphemeralTexts } from "../../src/storage/ephemeral-texts.ts";
import { createInMemoryBus } from "../../src/storage/in-memory-cluster.ts";

test("a text that may not be stored is there in every process, until one drops it or an hour has passed", () => {
  let now = 0;
  const bus = createInMemoryBus(silentLog);
  const [one, two] = [createEphemeralTexts(bus, () => now), createEphemeralTexts(bus, () => now)];
  one.put("result:t1-c1", "found");
  one.put("result:t2-c1", "other");
  expect(two.get("result:t1-c1")).toBe("found");
  two.drop("result:t1-");
  expect([one.get("result:t1-c1"), one.get("result:t2-c1")]).toEqual([undefined, "other"]);
  now = 3_600_001;
  expect([one.get("result:t2-c1"), two.get("result:t2-c1")]).toEqual([undefined, undefined]);
});
