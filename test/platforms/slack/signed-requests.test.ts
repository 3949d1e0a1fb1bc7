/** Who may run a signed request, if several processes get it. */
import { expect, test } from "vitest";
import { createSignedRequests } from "../../../src/platforms/slack/api/signed-requests.ts";
import { createSqliteLedger } from "../../../src/storage/sqlite/ledger.ts";

test("a process that stalled while another took its request over does not run it as well", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const [stalled, other] = [1, 2].map(() => createSignedRequests({ ledger, isShared: true }));
  expect(await stalled?.begin("hash")).toBe("run");
  await ledger.transition("signed-request", "hash", ["taken"], "taken", (body) => ({ ...body, takenAt: 0 }));
  expect(await other?.begin("hash")).toBe("run");
  await expect(stalled?.done("hash")).rejects.toThrow("another process has taken over");
  await other?.done("hash");
  await other?.done("hash");
  await expect(stalled?.done("hash")).rejects.toThrow("another process has taken over");
  expect(await stalled?.begin("hash")).toBe("done");
  await ledger.close();
});
