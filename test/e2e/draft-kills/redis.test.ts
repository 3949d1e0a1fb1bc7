/** Drafts on Redis with a platforms process and workers, any of which dies. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createChatClient } from "../../doubles/chat-client.ts";
import { missingRedis, redisNote } from "../../doubles/redis-server.ts";
import { type RunningRemora, startRemora as startHere } from "../../doubles/remora-in-process.ts";
import { isWhole, shareNote, shareOf } from "../../faults/share.ts";
import { chainMs, expectNothingLeft, inDraftWorld, type Life, liveAndDie } from "./chain.ts";
import type { Kind } from "./tasks.ts";
import type { DraftWorld } from "./world.ts";

const testMs = 600_000;
const sharesOfSteps = 13;

/** Steps at which Redis differs from one process: around leases, the bus and takeover. */
const steps: { [kind in Kind]?: string[] } = {
  approve: [
    "1:view: the command runs",
    "1:rename workspace/drafts/open/*/layer/*/log.txt",
    "1:posts: keep card",
    "1:ledger: approval approved to consumed",
    "1:mkdir site/*/new",
    "1:ledger: draft open to kept",
  ],
  deny: ["1:ledger: draft open to discarded"],
  own: ["1:mkdir workspace/files/channel:general/*/new", "1:ledger: draft open to kept"],
  job: ["1:view: the command runs"],
};
/** The process that serves the page handles clicks and Undo. */
const clicks: { [kind in Kind]?: string[] } = {
  approve: ["1:ledger: approval open to approved"],
  undo: ["1:rmdir site/*/new", "2:ledger: approval consumed to consumed"],
};

function livesOf(role: "platforms" | "worker", byKind: typeof steps): Life[] {
  return Object.entries(byKind).flatMap(([kind, ofKind]) =>
    ofKind.map((step): Life => ({ role, step, kind: kind as Kind })),
  );
}

describe.skipIf(missingRedis !== undefined)(`drafts on Redis${redisNote}${shareNote}`, () => {
  // In a plain run the click's process; the next test kills a worker as well.
  const lives = shareOf([...livesOf("platforms", clicks), ...livesOf("worker", steps)], sharesOfSteps);
  const timeout = chainMs(lives.length);
  test("a worker and the process that serves the page die at each step of a draft", { timeout }, async () => {
    await inDraftWorld("redis", async (world) => {
      expect(await liveAndDie(world, lives, ["platforms", "worker"])).toEqual([]);
    });
  });

  // A plain run has these steps with two processes, and a single process without Redis.
  test.runIf(isWhole)("a single process dies at each step of a draft", { timeout: testMs }, async () => {
    await inDraftWorld("redis", async (world) => {
      const lives = ["1:rename workspace/drafts/open/*/layer/*/log.txt", "1:mkdir site/*/new"].map(
        (step): Life => ({ role: "all", step, kind: "approve" }),
      );
      expect(await liveAndDie(world, lives, ["all"])).toEqual([]);
    });
  });

  test("another worker completes a keep whose worker died; of two answers at once on two processes, one counts", {
    timeout: testMs,
  }, async () => {
    await inDraftWorld("redis", async (world) => {
      const front = await startHere(world.home, world.env, ["--role", "platforms"]);
      const doomed = await world.start({ REMORA_KILL_STEP: "1:rename site/b.txt" }, ["--role", "worker"]);
      const { card, ann } = await cardAt(world, front);
      onTestFinished(async () => void (await front.stop()));
      await ann.click(card, "approve");
      expect(await doomed.exited).toBeNull();
      // Only now, or it might have kept the changes itself.
      const worker = await startHere(world.home, world.env, ["--role", "worker"]);
      onTestFinished(async () => void (await worker.stop()));
      await ann.waitFor(({ id, card: now }) => id === card.id && /Kept/.test(now?.items[0]?.outcome ?? ""));
      expect(await contentsOf(world)).toEqual({ "a.txt": "1\n2\n", "b.txt": "1\n2\n" });
      await expectNothingLeft(world);
      ann.close();
      for (const second of ["approve", "deny"]) await answerTwice(world, front, worker, second);
    });
  });
});

/** Ann approves at one process, and `second` is answered at the other at the same moment. */
async function answerTwice(
  world: DraftWorld,
  front: RunningRemora,
  worker: RunningRemora,
  second: string,
): Promise<void> {
  const { card, ann } = await cardAt(world, front);
  const cardOrApprovalId = card.card?.items[0]?.approvalId;
  const atWorker = fetch(`${worker.url}/dashboard/answers`, {
    method: "POST",
    headers: { authorization: `Bearer ${front.token}`, origin: worker.url, "content-type": "application/json" },
    body: JSON.stringify({ cardOrApprovalId, choice: second }),
  });
  const [here, there] = await Promise.all([ann.click(card, "approve"), atWorker]);
  const receipts = [here, (await there.json()) as { accepted: boolean }];
  expect(receipts.filter(({ accepted }) => accepted)).toHaveLength(1);
  const isKept = receipts[0]?.accepted === true || second === "approve";
  const expected = isKept ? /Kept 2 files/ : /denied/;
  await ann.waitFor(({ id, card: now }) => id === card.id && expected.test(now?.items[0]?.outcome ?? ""));
  await expectNothingLeft(world);
  const text = isKept ? "1\n2\n" : "1\n";
  expect(await contentsOf(world)).toEqual({ "a.txt": text, "b.txt": text });
  ann.close();
}

/** The card about two appended lines in the configured folder. */
async function cardAt(world: DraftWorld, { url, token }: RunningRemora) {
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(world.site, name), "1\n");
  const ann = await createChatClient(url, token);
  const command = "echo 2 >> a.txt; echo 2 >> b.txt";
  await ann.say(`@remora call shell_exec ${JSON.stringify({ command })}`, { channel: "random" });
  const card = await ann.waitFor(({ card, state }) => state === "waiting" && card?.items[0]?.changes !== undefined);
  return { ann, card };
}

async function contentsOf({ site }: DraftWorld): Promise<Record<string, string>> {
  const names = await readdir(site);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(site, name), "utf8")])),
  );
}
