import { describe, expect, test } from "vitest";
import { type RedisLink, retryWhileAway } from "../../src/storage/redis/wait.ts";

const up: RedisLink = {
  isUp: () => true,
  isClosed: () => false,
  refusal: () => undefined,
  trouble: () => "",
  isReadOnlyPassing: false,
  isHurried: () => false,
  onChange: () => () => {},
};
const options = { place: "ledger redis://here", waitMs: 50 };

/** As a start that loads much, or a big file. */
function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("a command", () => {
  test("whose answer came while the loop stood still is answered, though its time is over", async () => {
    const sent = Promise.withResolvers<void>();
    const answered = retryWhileAway(up, options, async () => {
      sent.resolve();
      // Read after the timers of the next round of the loop, as what came over a connection is.
      for (let round = 0; round < 2; round++) await new Promise((resolve) => setImmediate(resolve));
      return "PONG";
    });
    await sent.promise;
    standStill(4 * options.waitMs);
    expect(await answered).toBe("PONG");
  });

  test.each(["away", "silent"])("to a Redis that is %s is given up soon once the process is to end", async (state) => {
    let isHurried = false;
    let changed = () => {};
    const link: RedisLink = {
      ...up,
      isUp: () => state === "silent",
      isHurried: () => isHurried,
      onChange(listener) {
        changed = listener;
        return () => {};
      },
    };
    const unanswered = retryWhileAway(link, { ...options, waitMs: 600_000 }, () => new Promise(() => {}));
    await new Promise((resolve) => setImmediate(resolve));
    isHurried = true;
    changed();
    await expect(unanswered).rejects.toMatchObject({
      ...{ code: "storage.unreachable", isRetryable: true },
      message: expect.not.stringContaining("600 s"),
    });
    await expect(
      retryWhileAway(link, { ...options, waitMs: 600_000 }, () => new Promise(() => {})),
    ).rejects.toMatchObject({
      code: "storage.unreachable",
    });
  });

  test("without an answer is given up, also after the loop stood still", async () => {
    const sent = Promise.withResolvers<void>();
    const unanswered = retryWhileAway(up, options, () => {
      sent.resolve();
      return new Promise(() => {});
    });
    await sent.promise;
    standStill(4 * options.waitMs);
    await expect(unanswered).rejects.toMatchObject({ code: "storage.unreachable", isRetryable: true });
  });
});
