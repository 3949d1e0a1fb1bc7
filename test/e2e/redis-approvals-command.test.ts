/** `remora approvals` with Redis: the operator answers from any machine, whichever process runs the turn. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Ended } from "../cli/remora-command.ts";
import { commandHere } from "../cli/remora-here.ts";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import {
  agentsIn,
  answerIn,
  callFor,
  createDurabilityWorld,
  type DurabilityWorld,
  eventually,
  expectNothingOpen,
  longLockMs,
} from "./durability-world.ts";

let world: DurabilityWorld;

/** Like another machine: the same settings and an empty data folder. */
function approvals(...given: string[]): Promise<Ended> {
  const env = {
    ...world.env,
    REMORA_WORKSPACE: world.home.workspace,
    REMORA_DATA: join(world.home.data, "..", "the-operators-data"),
    REMORA_ENV_FILE: "/dev/null",
  };
  return commandHere(env, ["approvals", ...given]);
}

async function cardFor(id: string) {
  return await eventually(async () => {
    const cards = agentsIn(await world.person.thread(id)).filter(({ type }) => type === "card");
    expect(cards).toMatchObject([{ state: "waiting" }]);
    return cards[0]?.card?.items[0]?.approvalId ?? "";
  });
}

describe.skipIf(missingRedis !== undefined)(`remora approvals on Redis${redisNote}`, () => {
  beforeAll(async () => {
    world = await createDurabilityWorld({ redis: {}, lockMs: longLockMs });
    await world.start(["--role", "platforms"]);
    await world.start(["--role", "worker"]);
  });
  afterAll(() => world.close());

  test("list shows the whole call, approve runs it once, and the card says who approved", async () => {
    expect((await approvals("list")).stdout).toBe("No approvals waiting.\n");
    const id = await callFor(world, "effect_ask");
    const approvalId = await cardFor(id);
    const { stdout } = await approvals("list");
    expect(stdout).toContain(approvalId);
    expect(stdout).toContain(id);
    expect(stdout).toContain("Asks for the test");
    expect(await approvals("approve", approvalId.slice(0, 8))).toMatchObject({ code: 0, stdout: "Approved.\n" });
    expect(await answerIn(world, id)).toContain(`effect ${id}`);
    expect(world.effects(id)).toBe(1);
    const settled = agentsIn(await world.person.thread(id)).flatMap(({ card }) => card?.items ?? []);
    expect(settled).toMatchObject([{ choices: [], outcome: expect.stringContaining("The operator approved") }]);
    expect((await approvals("approve", approvalId, "--json")).code).toBe(1);
    expect(world.effects(id)).toBe(1);
    await expectNothingOpen(await world.ledger());
  });

  test("deny settles the call, and nothing runs", async () => {
    const id = await callFor(world, "effect_ask");
    const approvalId = await cardFor(id);
    expect((await approvals("deny", approvalId, "--reason", "not today")).code).toBe(0);
    expect(await answerIn(world, id)).toContain("not today");
    expect(world.effects(id)).toBe(0);
    await expectNothingOpen(await world.ledger());
  });

  test("without Redis it exits and says what to check", async () => {
    await world.redis.kill();
    const { code, stderr } = await approvals("list");
    expect(code).toBe(1);
    expect(stderr).toMatch(/gave no answer .* Check that Redis is running and that REDIS_URL reaches it/);
  });
});
