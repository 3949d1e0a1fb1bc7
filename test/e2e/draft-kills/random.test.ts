/**
 * The process dies at random steps, repeatedly on one home, even while it recovers. `npm run chaos` runs more seeds
 * (CHAOS_SEEDS); DRAFT_SEED repeats a run.
 */
import { describe, test } from "vitest";
import { missingRedis, redisNote } from "../../doubles/redis-server.ts";
import { chainMs, inDraftWorld, type Life, liveAndDie, type Role } from "./chain.ts";
import { type Kind, kinds } from "./tasks.ts";

const rounds = Number(process.env.CHAOS_SEEDS ?? 1);
const seed = Number(process.env.DRAFT_SEED ?? Math.floor(Math.random() * 1_000_000));
const embeddedLives = 25 * rounds;
const redisLives = 12 * rounds;
/** More steps than any request takes. */
const mostSteps = 260;
/** Two, because a call ends as unknown after three interruptions. */
const armedAtStartInARow = 2;

function randomLives(count: number, random: () => number, roleOf: (random: () => number) => Role): Life[] {
  return Array.from({ length: count }, (_, index) => {
    const kind = kinds[Math.floor(random() * kinds.length)] as Kind;
    const life: Life = { role: roleOf(random), step: String(1 + Math.floor(random() * mostSteps)), kind };
    return index % (armedAtStartInARow + 1) === 0 ? life : { ...life, fromStart: true };
  });
}

describe(`a process that dies at random steps of a draft, seed ${seed}`, () => {
  test.for([1, 2])("embedded, chain %i", { timeout: chainMs(embeddedLives) }, async (chain) => {
    const random = randomFrom(seed + chain);
    await inDraftWorld("embedded", async (world) => {
      await liveAndDie(
        world,
        randomLives(embeddedLives, random, () => "all"),
        ["all"],
      );
    });
  });

  test.skipIf(missingRedis !== undefined)(
    `on Redis, one process that takes messages in and one that works${redisNote}`,
    { timeout: chainMs(redisLives) },
    async () => {
      const random = randomFrom(seed + 3);
      await inDraftWorld("redis", async (world) => {
        const roleOf = (random: () => number): Role => (random() < 0.2 ? "platforms" : "worker");
        await liveAndDie(world, randomLives(redisLives, random, roleOf), ["platforms", "worker"]);
      });
    },
  );
});

/** mulberry32, a small deterministic generator. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
