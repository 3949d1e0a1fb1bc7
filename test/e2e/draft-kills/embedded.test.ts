import { describe, expect, test } from "vitest";
import { isWhole, shareNote, shareOf } from "../../faults/share.ts";
import { inDraftWorld, type Life, liveAndDie } from "./chain.ts";
import { namedSteps } from "./named-steps.ts";
import { type Kind, kinds } from "./tasks.ts";

const testMs = 600_000;
const sharesOfSteps = 30;
/** In a plain run one chain of processes has the few steps, of whichever kinds. */
const chains: readonly (readonly Kind[])[] = isWhole ? kinds.map((kind) => [kind]) : [kinds];

function livesOf(kind: Kind): Life[] {
  return namedSteps[kind].map((step) => ({ role: "all", step, kind }));
}

describe(`a process that dies on the way from the first command to the settled card${shareNote}`, () => {
  test.each(chains.map((chain) => [chain.join(", "), chain] as const))(
    "%s: at each step",
    { timeout: testMs },
    async (_name, chain) => {
      await inDraftWorld("embedded", async (world) => {
        const missed = await liveAndDie(world, shareOf(chain.flatMap(livesOf), sharesOfSteps), ["all"]);
        expect(missed).toEqual([]);
      });
    },
  );
});
