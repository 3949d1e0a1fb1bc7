/** Missed messages: order with live ones, what can't be read, and hundreds of conversations under Slack's limits. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import type { CatchUpReport } from "../../../src/platforms/shared/catch-up-report.ts";
import { createSlackApi } from "../../../src/platforms/slack/api/api.ts";
import { createRateLimiter } from "../../../src/platforms/slack/api/rate-limiter.ts";
import { createCatchUp } from "../../../src/platforms/slack/inbound/catch-up.ts";
import { createCursors } from "../../../src/platforms/slack/inbound/cursors.ts";
import type { MessageEvent } from "../../../src/platforms/slack/inbound/events.ts";
import { createPosts } from "../../conformance/platform-world.ts";
import { createInMemoryStore } from "../../doubles/in-memory-store.ts";
import type { Channel, StoredMessage } from "../../doubles/slack/state.ts";
import { isWhole } from "../../faults/share.ts";
import { createTestAgent, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;

beforeEach(async () => {
  world = await createSlackWorld();
  agent = createTestAgent();
});
afterEach(() => world.close());

const connect = () => world.platform.connect(agent.handlers, new AbortController().signal);
const mention = (text: string) =>
  world.slack.people.say({ as: world.slack.ann, in: world.slack.general, text: `@Remora ${text}` });

async function leave(): Promise<void> {
  await world.platform.close();
  world.slack.redelivery.isEnabled = false;
}

describe("while missed messages are read", () => {
  test("a live message of the same place waits for them, and one of another place does not", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ben);
    const say = (text: string) => slack.people.say({ as: slack.ben, in: dm, text });
    await connect();
    await say("hi").acknowledged();
    await mention("before").acknowledged();
    await leave();
    mention("missed");
    await world.restart();
    // The channel has the newest message, so its history is read first.
    slack.failNext("conversations.history", { type: "delay", ms: 1_500 });
    await connect();
    await slack.until(() => slack.callsOf("conversations.history").length > 0);
    const live = mention("live");
    await say("elsewhere").acknowledged();
    expect(agent.texts()).not.toContain("missed");
    await live.acknowledged();
    expect(agent.texts()).toEqual(["hi", "before", "elsewhere", "missed", "live"]);
  });

  test("a place whose history Slack does not give holds up no live message for long", async () => {
    const { slack } = world;
    await connect();
    await mention("before").acknowledged();
    await leave();
    await world.restart();
    const refusal = { type: "error" as const, error: "invalid_cursor" };
    slack.failNext("conversations.history", ...Array.from({ length: 2 }, () => refusal));
    await connect();
    await mention("live").acknowledged();
    expect(agent.texts()).toEqual(["before", "live"]);
    expect(world.platform.health().detail).toContain("in 1 conversation, the service did not answer");
  });
});

test("a message that the first process did not live to keep is fetched by the next one", async () => {
  await connect();
  await leave();
  mention("missed");
  await world.restart();
  await connect();
  await world.slack.until(() => agent.texts().length > 0);
  expect(agent.texts()).toEqual(["missed"]);
});

test("what was written in a DM's threads meanwhile is fetched: below the person's messages and the agent's, however old", async () => {
  const { slack } = world;
  const dm = slack.workspace.direct(slack.ann);
  const say = (text: string, thread?: string) =>
    slack.people.say({ as: slack.ann, in: dm, text, ...(thread === undefined ? {} : { thread }) });
  await connect();
  const first = say("long ago");
  await first.acknowledged();
  const target = { platform: "slack", conversationId: `slack:${slack.state.team.id}:${dm.id}`, turnId: "t0" };
  const report = world.platform.reply({ ...target, messageId: "schedule:s1:1" }, createPosts());
  await report.finish("A report.", []);
  const posted = slack.timeline(slack.ann).find(({ isAgents }) => isAgents);
  // Since then, the DM was used a lot.
  const { messages } = slack.state;
  const rows = Array.from({ length: 450 }, () => ({ ...first.message, ts: slack.state.ts(), text: "done" }));
  messages.push(...rows);
  const last = say("yesterday");
  await last.acknowledged();
  await leave();
  say("in the oldest", first.ts);
  say("about the report", posted?.ts);
  const broadcast = { as: slack.ann, in: dm, thread: last, text: "broadcast", isBroadcast: true };
  slack.people.say(broadcast);
  say("a new one");
  await world.restart();
  await connect();
  const missed = ["in the oldest", "about the report", "broadcast", "a new one"];
  await expect.poll(() => agent.texts()).toEqual(["long ago", "yesterday", ...missed]);
  const threads = agent.kept.slice(2).map(({ conversationId }) => conversationId.split(":")[3]);
  expect(threads.slice(0, 3)).toEqual([first.ts, posted?.ts, last.ts]);
});

test("what was written before the first start is not fetched", async () => {
  const said = mention("long ago");
  said.message.ts = "1700000000.000000";
  await connect();
  await leave();
  await world.restart();
  await connect();
  await mention("now").acknowledged();
  expect(agent.texts()).toEqual(["now"]);
});

test("a place without access is counted, reported and not asked again", async () => {
  const { slack } = world;
  const other = slack.workspace.addChannel({ name: "other", members: [slack.ann] });
  await connect();
  await slack.people.say({ as: slack.ann, in: other, text: "@Remora hi" }).acknowledged();
  await mention("first").acknowledged();
  await leave();
  other.members.delete(slack.workspace.app.id);
  await world.restart();
  await connect();
  const told = "some messages from while I was offline were not read: in 1 conversation, I have no access any more";
  await expect.poll(() => world.platform.health().detail, { timeout: 5_000 }).toContain(told);
  await expect.poll(() => world.logged).toContain("some messages from while offline could not be read");
  const asked = () => slack.callsOf("conversations.history").filter(({ args }) => args.channel === other.id).length;
  const before = asked();
  await world.restart();
  await connect();
  await expect.poll(() => slack.callsOf("conversations.list").length, { timeout: 5_000 }).toBe(2);
  expect(asked()).toBe(before);
  expect(world.platform.health().detail).not.toContain("offline");
});

test("after more than seven days, the newer messages are read, and that there were older ones is told", async () => {
  const { slack, store } = world;
  const daysAgo = (days: number) => ((Date.now() - days * 86_400_000) / 1_000).toFixed(6);
  const template = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora now", blocks: [] }).message;
  for (const days of [8, 3]) {
    const text = template.text.replace("now", `${days} days ago`);
    slack.state.messages.push({ ...structuredClone(template), ts: daysAgo(days), text });
  }
  slack.state.messages.sort((one, other) => Number(one.ts) - Number(other.ts));
  await store.set("slack:cursors", { [slack.general.id]: { ts: daysAgo(9), threads: {} } });
  await connect();
  const told = "in 1 conversation, messages from more than 7 days ago were not read";
  await expect.poll(() => world.platform.health().detail, { timeout: 5_000 }).toContain(told);
  expect(agent.texts().filter((text) => text.includes("days ago"))).toEqual(["3 days ago"]);
});

test("the newest of more than 5,000 missed replies in one thread are read", async () => {
  const { slack, store } = world;
  const replies = 5_100;
  const template = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora now", blocks: [] }).message;
  const start = Date.now() / 1_000 - 2 * replies;
  const parent = start.toFixed(6);
  slack.state.messages.push({ ...structuredClone(template), ts: parent });
  for (let number = 1; number <= replies; number++) {
    const reply = { ...structuredClone(template), ts: (start + number).toFixed(6), threadTs: parent };
    slack.state.messages.push({ ...reply, text: template.text.replace("now", `reply ${number}`) });
  }
  slack.state.messages.sort((one, other) => Number(one.ts) - Number(other.ts));
  await store.set("slack:cursors", { [slack.general.id]: { ts: parent, threads: { [parent]: parent } } });
  await connect();
  await expect.poll(() => agent.texts(), { timeout: 10_000 }).toContain(`reply ${replies}`);
  expect(agent.texts()).toContain("reply 1");
  expect(world.platform.health().detail).not.toContain("offline");
}, 60_000);

/** Slack's minute lasts this much shorter here. */
const haste = 600;

/** `npm run chaos` reads all of them. */
const [dmCount, channelCount] = isWhole ? [500, 200] : [100, 40];

test(`${dmCount} DMs and ${channelCount} channels with 100 threads each are read within Slack's limits, each message once`, async () => {
  const { slack, store } = world;
  const template = slack.people.say({ as: slack.ann, in: slack.general, text: "before" }).message;
  const write = (channel: Channel, text: string, threadTs?: string): StoredMessage => {
    const thread = threadTs === undefined ? {} : { threadTs };
    const message = { ...structuredClone(template), ts: slack.state.ts(), channel: channel.id, text, ...thread };
    slack.state.messages.push(message);
    return message;
  };
  const cursors = createCursors(store, silentLog);
  const hear = ({ channel, ts }: StoredMessage, thread: string | null) => {
    cursors.heard(channel, ts, thread);
    cursors.kept(channel, ts);
  };
  const dms = Array.from({ length: dmCount }, (_, index) =>
    slack.workspace.direct(slack.workspace.addPerson({ name: `Person ${index}` })),
  );
  const channels = Array.from({ length: channelCount }, (_, index) =>
    slack.workspace.addChannel({ name: `c${index}` }),
  );
  for (const dm of dms) hear(write(dm, "before"), null);
  const threads = channels.map((channel) => Array.from({ length: 100 }, () => write(channel, "before")));
  for (const each of threads.flat()) hear(each, each.ts);
  const expected = dms.map((dm) => write(dm, `to ${dm.id}`).text);
  for (const [index, channel] of channels.entries()) {
    const old = threads[index]?.[7];
    expected.push(write(channel, `in ${channel.id}`, old?.ts).text, write(channel, `then in ${channel.id}`).text);
  }
  for (const method of ["conversations.history", "conversations.replies"])
    slack.limits.rates[method] = { perMinute: 50 * haste, burst: 50 };

  const ended = new AbortController();
  const api = createSlackApi({
    ...{ token: slack.botToken, apiUrl: slack.apiUrl, onProblem() {}, log: silentLog, signal: ended.signal },
  });
  const limiter = createRateLimiter(() => Date.now() * haste);
  const taken: MessageEvent[] = [];
  let report: CatchUpReport | undefined;
  const catchUp = createCatchUp({
    ...{ api, cursors, log: silentLog, signal: ended.signal },
    rateLimiter: { take: (call) => Math.ceil(limiter.take(call) / haste) },
    take: async (event) => void taken.push(event),
    onProgress: (progress) => {
      report = progress;
    },
    onMinuteFetched() {},
  });
  await catchUp.run("long");
  ended.abort();
  expect(taken.map(({ text }) => text).toSorted()).toEqual(expected.toSorted());
  for (const channel of channels)
    expect(taken.filter((each) => each.channel === channel.id).map(({ text }) => text)).toEqual([
      `in ${channel.id}`,
      `then in ${channel.id}`,
    ]);
  expect(report).toMatchObject({ isOver: true, messages: expected.length, unchecked: 0 });
  expect([report?.closed.size, report?.failed.size, report?.cut.size]).toEqual([0, 0, 0]);
  const histories = slack.callsOf("conversations.history");
  // One call for each place; the threads cost one more only where somebody replied.
  expect(histories.filter(({ status }) => status === 200)).toHaveLength(dms.length + channels.length + 1);
  expect(slack.callsOf("conversations.replies").filter(({ status }) => status === 200)).toHaveLength(channels.length);
}, 120_000);

test.each(["socket", "http"] as const)(
  "what Slack drops because of too many events is said, and answered once the minute is over (%s)",
  async (transport) => {
    await world.close();
    world = await createSlackWorld({ transport });
    const { slack } = world;
    await connect();
    await mention("before").acknowledged();
    const end = slack.events.drop();
    await slack.until(() => world.platform.health().detail.includes("Slack left out events"));
    mention("dropped");
    end();
    await mention("after").acknowledged();
    await slack.until(() => agent.texts().length === 3);
    expect(agent.texts().toSorted()).toEqual(["after", "before", "dropped"]);
    expect(slack.sent.every(({ state }) => state === "acknowledged")).toBe(true);
  },
);

test("what Slack drops is answered also if the process dies before the minute is over", async () => {
  await world.close();
  const store = createInMemoryStore();
  world = await createSlackWorld({ changes: { store } });
  const { slack } = world;
  await connect();
  await mention("before").acknowledged();
  const { unsubscribed } = slack.events;
  for (const name of ["message.channels", "app_mention"]) unsubscribed.add(name);
  mention("dropped");
  unsubscribed.clear();
  const after = mention("after");
  await after.acknowledged();
  await expect.poll(() => store.values.get("slack:cursors")).toContain(after.ts);
  // Slack says only now what it has dropped.
  slack.events.drop()();
  await slack.sent.at(-1)?.acknowledged();
  // Without what the process would still store.
  const left = createInMemoryStore();
  for (const [key, value] of store.values) left.values.set(key, value);
  await world.restart({ store: left });
  agent = createTestAgent();
  await connect();
  await slack.until(() => agent.texts().includes("dropped"));
});

test("that Slack drops events is acknowledged only once it is stored", async () => {
  await world.close();
  const store = createInMemoryStore();
  world = await createSlackWorld({ transport: "http", changes: { store } });
  const { slack } = world;
  await connect();
  await mention("before").acknowledged();
  const { set } = store;
  store.set = async () => Promise.reject(new Error("disk full"));
  slack.events.drop();
  const told = slack.sent.at(-1);
  await slack.until(() => told?.attempts[0]?.outcome !== undefined);
  expect(told?.state).not.toBe("acknowledged");
  store.set = set;
  await told?.acknowledged();
});
