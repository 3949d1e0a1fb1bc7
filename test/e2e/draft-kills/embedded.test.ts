import { describe, expect, test } from "vitest";
import { shareNote, shareOf } from "../../faults/share.ts";
import { inDraftWorld, type Life, liveAndDie } from "./chain.ts";
import { namedSteps } from "./named-steps.ts";
import { type Kind, kinds } from "./tasks.ts";

const testMs = 600_000;
const sharesOfSteps = 8;

function livesOf(kind: Kind): Life[] {
  return shareOf(namedSteps[kind], sharesOfSteps).map((step) => ({ role: "all", step, kind }));
}

describe(`a process that dies on the way from the first command to the settled card${shareNote}`, () => {
  test.each(kinds)("%s: at each step", { timeout: testMs }, async (kind) => {
    await inDraftWorld("embedded", async (world) => {
      const missed = await liveAndDie(world, livesOf(kind), ["all"]);
      expect(missed).toEqual([]);
    });
  });
});
