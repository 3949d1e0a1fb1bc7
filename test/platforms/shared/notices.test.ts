/** A reminder and a copy of a card that are due while Slack is away, and across a restart, are delivered once. */
import { afterEach, expect, test } from "vitest";
import type { NotifyOptions } from "../../../src/approvals/notify/options.ts";
import { createPosts } from "../../../src/engine/turn/posts.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createCardWriter } from "../../../src/response/card-writer.ts";
import { createDeliveries } from "../../../src/response/deliveries.ts";
import { createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../../src/storage/sqlite/ledger.ts";
import { setUp } from "../../approvals/approvals-fixture.ts";
import { createSlackWorld, type SlackWorld } from "../slack/world.ts";

const hour = 3_600_000;

let world: SlackWorld;
const ledger = createSqliteLedger({ path: ":memory:" });
afterEach(async () => {
  await world.close();
  await ledger.close();
});

/** A process: the approvals and what they post, on the current Slack platform. */
function startProcess() {
  const { platform } = world;
  const leases = createInMemoryLeases();
  const desk: ReturnType<typeof setUp> = setUp(
    {
      policy: { approvers: [`user:${world.slack.ben.id}`] },
      get notify(): NotifyOptions {
        return {
          ...{ where: "dm", atMost: 5, leases, serves: async () => true },
          reach: () => platform.reach,
          post: async (card) => (await deliveries.open(card.target)).ask(card),
          say: async (target, note) => (await deliveries.open(target)).note(note),
        };
      },
    },
    ledger,
  );
  const deliveries = createDeliveries({
    askElsewhere: async () => false,
    platform: () => platform,
    postsFor: ({ turnId }) =>
      createPosts(ledger, turnId, async (key, messageId) => {
        if (key.startsWith("card:")) await desk.approvals.posted(key.slice("card:".length), turnId, messageId);
      }),
    cardWriter: createCardWriter({ leases, cardNow: (id, turnId) => desk.approvals.card(id, turnId) }),
    redact: (text) => text,
    wrap: (_, port) => port,
    log: silentLog,
  });
  return {
    ...{ desk, deliveries },
    async sweep() {
      await desk.approvals.sweep(desk.clock.now);
      await desk.approvals.whenIdle();
    },
  };
}

test("a copy and a reminder that come due while Slack is away, and across a restart, arrive once", async () => {
  world = await createSlackWorld();
  const { slack } = world;
  slack.limits.isEnforced = false;
  const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora clean up" });
  const conversationId = `slack:${slack.state.team.id}:${slack.general.id}:${said.ts}`;
  const target = { platform: "slack", conversationId, turnId: "t1", messageId: `${slack.general.id}:${said.ts}` };
  const dm = slack.workspace.direct(slack.ben);
  const inDm = (text: RegExp) => slack.see({ in: dm }).filter(({ readable }) => text.test(readable));
  const inChannel = (text: RegExp) => slack.see({ in: slack.general }).filter(({ readable }) => text.test(readable));

  const first = startProcess();
  const requester = { id: slack.ann.id, name: "Ann", isBot: false, roles: [] };
  const { card } = await first.desk.ask("t1", undefined, { target, requester });
  const cardsAway = slack.fail("conversations.open", { type: "http", status: 503 });
  await (await first.deliveries.open(target)).ask(card);
  const copiesTried = () => slack.callsOf("conversations.open").length;
  await expect.poll(copiesTried, { timeout: 60_000 }).toBeGreaterThan(1);
  cardsAway();
  await first.desk.approvals.whenIdle();
  for (let sweeps = 0; sweeps < 3; sweeps += 1) await first.sweep();
  expect(inDm(/needs an answer/)).toHaveLength(1);

  first.desk.clock.now += hour / 2;
  const back = slack.fail("chat.postMessage", { type: "http", status: 503 });
  for (let sweeps = 0; sweeps < 2; sweeps += 1) await first.sweep();
  await world.restart();
  const second = startProcess();
  second.desk.clock.now = first.desk.clock.now + 30_000;
  await second.sweep();
  expect([inDm(/still waiting/i), inChannel(/still waiting/i)]).toEqual([[], []]);
  back();
  for (let sweeps = 0; sweeps < 3; sweeps += 1) await second.sweep();
  const reminders = [...inDm(/still waiting/i), ...inChannel(/still waiting/i)];
  expect(reminders.map(({ readable }) => readable)).toHaveLength(1);
}, 240_000);
