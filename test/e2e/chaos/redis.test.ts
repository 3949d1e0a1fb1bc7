import { describe, test } from "vitest";
import { missingRedis, redisNote } from "../../doubles/redis-server.ts";
import { shareNote } from "../../faults/share.ts";
import { chainMs, dieEverywhere, inWorld, seedList, seeds } from "./die-everywhere.ts";

describe.skipIf(missingRedis !== undefined)(`on Redis${redisNote}${shareNote}`, () => {
  // What is in it is in the other two as well, so only the longer run has it.
  test.each(seeds > 1 ? seedList() : [])(
    "one process, dying everywhere, seed %i",
    async (seed) => {
      await inWorld("redis", (world) => dieEverywhere(world, seed, ["all"]));
    },
    chainMs,
  );

  test.each(seedList())(
    "one that takes messages in and one that works, dying everywhere, seed %i",
    async (seed) => {
      await inWorld("redis", (world) => dieEverywhere(world, seed, ["platforms", "worker"]));
    },
    chainMs,
  );
});
