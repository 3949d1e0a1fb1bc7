/** Edits and deletions that Slack does not tell again, of messages that still wait for a turn. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createSlackApi } from "../../../src/platforms/slack/api/api.ts";
import { createMissedChanges } from "../../../src/platforms/slack/inbound/missed-changes.ts";
import { createTestAgent, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;

beforeEach(async () => {
  world = await createSlackWorld();
  agent = createTestAgent();
  await connect();
});
afterEach(() => world.close());

const connect = () => world.platform.connect(agent.handlers, new AbortController().signal);
const idOf = ({ ts }: { ts: string }) => `${world.slack.general.id}:${ts}`;

async function say(text: string, thread?: string) {
  const { people, ann, general } = world.slack;
  const said = people.say({
    as: ann,
    in: general,
    text: `@Remora ${text}`,
    ...(thread === undefined ? {} : { thread }),
  });
  await said.acknowledged();
  return said;
}

async function whileAway(work: () => void): Promise<void> {
  agent.unanswered = agent.kept;
  await world.platform.close();
  world.slack.redelivery.isEnabled = false;
  work();
  await world.restart();
  await connect();
}

test("are found after a restart, in channels and in threads, and the other messages stay", async () => {
  const { people } = world.slack;
  const [edited, deleted, kept] = [await say("one"), await say("two"), await say("three")];
  const [editedReply, deletedReply, keptReply] = [
    await say("four", kept.ts),
    await say("five", kept.ts),
    await say("six", kept.ts),
  ];
  await whileAway(() => {
    people.edit(edited, "@Remora one, edited");
    people.remove(deleted);
    people.edit(editedReply, "@Remora four, edited");
    people.remove(deletedReply);
    people.edit(keptReply, "@Remora six, edited");
  });
  await expect.poll(() => agent.edited.length).toBe(3);
  expect(agent.edited).toEqual([
    { id: idOf(edited), text: "one, edited" },
    { id: idOf(editedReply), text: "four, edited" },
    { id: idOf(keptReply), text: "six, edited" },
  ]);
  expect(agent.deleted).toEqual([deleted, deletedReply].map(idOf));
});

test("a message that Slack does not show for now stays as it is", async () => {
  const { slack } = world;
  const [hidden, deleted] = [await say("one"), await say("two")];
  slack.people.remove(hidden);
  slack.people.remove(deleted);
  slack.failNext("conversations.history", { type: "error", error: "not_in_channel" });
  const found: unknown[] = [];
  const look = createMissedChanges({
    api: createSlackApi({
      ...{ token: slack.botToken, apiUrl: slack.apiUrl, onProblem() {}, log: silentLog },
      signal: new AbortController().signal,
    }),
    handlers: { unanswered: async () => agent.kept },
    inbound: { changed: async (event) => void found.push(event), deleted: async (event) => void found.push(event) },
    log: silentLog,
  });
  await look();
  expect(found).toMatchObject([{ deleted_ts: deleted.ts }]);
});
