import { describe, expect, test } from "vitest";
import { isWhole, shareNote, shareOf } from "../../faults/share.ts";
import { chainMs, inDraftWorld, type Life, liveAndDie } from "./chain.ts";
import { namedSteps } from "./named-steps.ts";
import { type Kind, kinds } from "./tasks.ts";

const sharesOfSteps = 60;
/** In a plain run one chain of processes has the few steps, of whichever kinds. */
const chains: readonly (readonly Kind[])[] = isWhole ? kinds.map((kind) => [kind]) : [kinds];

function livesOf(kind: Kind): Life[] {
  return namedSteps[kind].map((step) => ({ role: "all", step, kind }));
}

describe(`a process that dies on the way from the first command to the settled card${shareNote}`, () => {
  for (const chain of chains) {
    const lives = shareOf(chain.flatMap(livesOf), sharesOfSteps);
    test(`${chain.join(", ")}: at each step`, { timeout: chainMs(lives.length) }, async () => {
      await inDraftWorld("embedded", async (world) => {
        expect(await liveAndDie(world, lives, ["all"])).toEqual([]);
      });
    });
  }
});
