import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bullIdOf, toolJobOf } from "../../src/tool-queue/bullmq/jobs.ts";
import { jobOf } from "./bull-world.ts";

describe("a job for BullMQ", () => {
  test("has an id that BullMQ takes, whatever the model calls its call, and another one than other jobs", () => {
    const ids = fc.uniqueArray(
      fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom(":", "0:1", "-1", "a:b:c", "")),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(ids, (all) => {
        const made = all.map(bullIdOf);
        expect(new Set(made).size).toBe(all.length);
        for (const id of made) {
          expect(id).toMatch(/^[\w-]+$/);
          // BullMQ refuses what it would take for one of its own.
          expect(`${Number.parseInt(id, 10)}`).not.toBe(id);
        }
      }),
    );
    expect(bullIdOf("turn-c1")).toBe("turn-c1");
  });

  test("comes out of Redis as it went in, with what is not known here", () => {
    const job = { ...jobOf("c1"), later: 1 };
    const guest = { ...job, scope: { ...job.scope, requester: { ...job.scope.requester, kind: "guest" as const } } };
    expect(toolJobOf(JSON.parse(JSON.stringify(guest)))).toEqual(guest);
    for (const other of [undefined, null, 1, {}, { ...job, call: { id: "c1" } }, { ...job, scope: undefined }]) {
      expect(toolJobOf(other)).toBeUndefined();
    }
  });
});
