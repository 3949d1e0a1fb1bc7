import { describe, test } from "vitest";
import { shareNote } from "../../faults/share.ts";
import { chainMs, dieEverywhere, inWorld, seedList } from "./die-everywhere.ts";

describe(`embedded${shareNote}`, () => {
  test.each(seedList())(
    "dying everywhere, seed %i",
    async (seed) => {
      await inWorld("embedded", (world) => dieEverywhere(world, seed, ["all"]));
    },
    chainMs,
  );
});
