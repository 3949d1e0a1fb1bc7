import { execa } from "execa";
import { expect, test } from "vitest";

const chaosOnly = "test/e2e/draft-kills/random.test.ts";

test("an empty CHAOS_SEEDS makes a plain run", { timeout: 240_000 }, async () => {
  const named = async (seeds: string) =>
    (
      await execa("vitest", ["list", "--filesOnly", chaosOnly], {
        preferLocal: true,
        env: { CHAOS_SEEDS: seeds },
        reject: false,
      })
    ).stdout;
  expect(await named("2")).toContain(chaosOnly);
  expect(await named("")).not.toContain(chaosOnly);
});
