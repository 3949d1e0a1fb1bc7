/** Where a reply goes if Slack refuses its place: to the next one with the same readers, once, and it says why. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createCard, createPosts, createQuestion } from "../../conformance/platform-world.ts";
import type { Said } from "../../doubles/slack/people.ts";
import type { Channel, StoredMessage } from "../../doubles/slack/state.ts";
import { replyTo } from "./agent.ts";
import { agent, agents, edits, mentioned, running, useReplies, world } from "./reply-world.ts";

useReplies();

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-places-"));
  await writeFile(join(folder, "report.txt"), "a report");
});
afterAll(() => rm(folder, { recursive: true }));

const report = () => [{ name: "report.txt", path: join(folder, "report.txt"), mimeType: "text/plain" }];
const texts = () => agents().map(({ readable }) => readable);
const places = () => new Set(agents().map(({ threadTs }) => threadTs));
/** What Slack calls it must never be read. */
const aCode = /[a-z]_[a-z]/;

type Closing = (channel: Channel, messages: StoredMessage[]) => void;
const each = (change: Partial<StoredMessage>): Closing => {
  return (_, messages) => void messages.map((one) => Object.assign(one, change));
};
const unknown: Closing = (channel) => Object.assign(channel, { refusesReplies: "replies_of_next_year" });
const threadsOff: Closing = (channel) => Object.assign(channel, { threads: "off" });
const closed: [string, string, Closing][] = [
  ["threads are off", "Threads are off here, so I write here.", threadsOff],
  ["its message takes no replies", "That message takes no replies, so I write here.", each({ takesNoReplies: true })],
  ["Slack refuses it for a reason that nobody knows", "Slack doesn't let me, so I write here.", unknown],
  ["the thread is locked", "The thread is locked, so I write here.", each({ isThreadLocked: true })],
];

describe.each([
  ["streamed", {}],
  ["written by edits", edits],
] as const)("a reply that is %s", (_, how) => {
  test.each(closed)("goes to the channel with its file if %s, and says why once", async (_what, why, close) => {
    const message = await mentioned(how);
    const { slack } = world;
    close(slack.general, slack.state.messages);
    const posts = createPosts();
    const reply = replyTo(world.platform, message, posts);
    await reply.write("The first half");
    await reply.finish("The first half, and the second.", report());
    expect(texts()).toEqual([why, "The first half, and the second.", ""]);
    expect(agents().at(-1)?.files).toMatchObject([{ name: "report.txt" }]);
    expect(places()).toEqual(new Set([undefined]));
    // Another process that resumes the reply repeats nothing.
    await world.restart();
    await replyTo(world.platform, message, posts).finish("The first half, and the second.", report());
    expect(agents()).toHaveLength(3);
  });
});

test("a stream that Slack refuses for a reason that nobody knows is written by edits in its thread", async () => {
  const message = await mentioned({});
  world.slack.failNext("chat.startStream", { type: "error", error: "streams_of_next_year" });
  await replyTo(world.platform, message).finish("An answer.", []);
  expect(texts()).toEqual(["An answer."]);
  expect(places()).toEqual(new Set([message.id.split(":")[1]]));
});

test("an answer whose blocks Slack refuses for a reason that nobody knows is shown without blocks", async () => {
  const message = await mentioned(edits);
  for (let times = 0; times < 2; times += 1)
    world.slack.failNext("chat.postMessage", { type: "error", error: "blocks_of_next_year" });
  await replyTo(world.platform, message).finish("**An** answer.", []);
  expect(texts().at(-1)).toContain("answer.");
});

test("a second answer in a channel without threads does not say again why it stands there", async () => {
  const message = await mentioned(edits);
  world.slack.general.threads = "off";
  await replyTo(world.platform, message).finish("One.", []);
  await replyTo(world.platform, { ...message, id: `${message.id}` }).finish("Two.", []);
  expect(texts().filter((text) => text.startsWith("Threads are off"))).toHaveLength(1);
});

test.each(["threads are off", "restricted_action", "something_entirely_new"])(
  "a stream that Slack refuses in the middle (%s) leaves no unfinished message, and its session is ended by few tries",
  async (why) => {
    const message = await mentioned();
    const { general, state } = world.slack;
    const reply = replyTo(world.platform, message);
    await reply.progress({ ...running("Looking"), tasks: [{ id: "c1", title: "Looking", state: "running" }] });
    expect(agents()).toMatchObject([{ streaming: "in_progress" }]);
    Object.assign(general, why === "threads are off" ? { threads: "off" } : { refuses: why });
    await reply.finish("The first half, and the second.", []).catch(() => {});
    const isMoved = why === "threads are off";
    expect(texts().includes("The first half, and the second.")).toBe(isMoved);
    expect(texts().join()).not.toMatch(aCode);
    expect(state.messages.filter(({ stream }) => stream?.state === "in_progress")).toEqual([]);
    const ends = world.slack.callsOf("agents.sessions.setStatus").filter(({ args }) => args.status === "active");
    expect(ends.length).toBeGreaterThan(0);
    expect(ends.length).toBeLessThan(10);
  },
);

test("a card and a question that stand in the channel because threads are off belong to their thread when they are clicked", async () => {
  const message = await mentioned(edits);
  const { slack } = world;
  slack.general.threads = "off";
  const reply = replyTo(world.platform, message);
  await reply.ask(createCard(message));
  await reply.question(createQuestion(message));
  const [, card, question] = agents();
  const click = (ts = "", button = "") =>
    slack.interactions.click({ as: slack.ann, on: { channel: slack.general, ts }, button }).acknowledged();
  await click(card?.ts, "Approve");
  await click(question?.ts, "Answer 1");
  expect(agent.answers).toMatchObject([{ conversationId: message.conversationId, choice: "approve" }]);
  expect(agent.picks).toMatchObject([{ conversationId: message.conversationId, option: 0 }]);
});

test.each(["top-level", "refuse"] as const)(
  "a card whose question was deleted is there once after a kill, and can be answered, if Slack answers the post with %s",
  async (how) => {
    const message = await mentioned(edits);
    const { slack } = world;
    const [root] = slack.state.messages;
    if (root === undefined) throw new Error("no message");
    slack.state.deletedRoots = how;
    await Promise.all(slack.people.remove({ message: root } as Said).map((each) => each.acknowledged()));
    const posts = createPosts();
    let isKilled = true;
    const dying = {
      ...posts,
      async keep(key: string, id: string) {
        if (isKilled && key.startsWith("card:")) throw new Error("killed");
        await posts.keep(key, id);
      },
    };
    const card = createCard(message);
    await expect(replyTo(world.platform, message, dying).ask(card)).rejects.toThrow("killed");
    isKilled = false;
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    const reply = replyTo(world.platform, message, dying);
    await reply.ask(card);
    const cards = agents().filter(({ buttons }) => buttons.length > 0);
    expect(cards).toHaveLength(1);
    const on = { channel: slack.general, ts: cards[0]?.ts ?? "" };
    await slack.interactions.click({ as: slack.ann, on, button: "Approve" }).acknowledged();
    await expect
      .poll(() => agent.answers)
      .toMatchObject([{ conversationId: message.conversationId, choice: "approve" }]);
    await reply.settle({ ...card, items: card.items.map((item) => ({ ...item, state: "consumed", choices: [] })) });
    await reply.finish("Here it is.", []);
    expect(agents().filter(({ buttons }) => buttons.length > 0)).toEqual([]);
    expect(texts().filter((text) => text === "Here it is.")).toHaveLength(1);
    expect(places()).toEqual(new Set([undefined]));
    expect(texts().join()).not.toMatch(aCode);
  },
);

test("a card that Slack puts outside of the thread without a word belongs to the thread when it is clicked", async () => {
  const message = await mentioned(edits);
  const { slack } = world;
  const [root] = slack.state.messages;
  if (root === undefined) throw new Error("no message");
  await Promise.all(slack.people.remove({ message: root } as Said).map((each) => each.acknowledged()));
  await replyTo(world.platform, message).ask(createCard(message));
  const on = { channel: slack.general, ts: agents()[0]?.ts ?? "" };
  await slack.interactions.click({ as: slack.ann, on, button: "Approve" }).acknowledged();
  await expect.poll(() => agent.answers).toMatchObject([{ conversationId: message.conversationId, choice: "approve" }]);
});

test.each([
  ["the answer to its post is lost", () => world.slack.failNext("chat.postMessage", { type: "cut", after: true })],
  ["nothing was stored after its post", () => vi.spyOn(world.store, "set").mockRejectedValue(new Error("disk full"))],
])("a card that stands in the channel because threads are off can be answered if %s", async (_, fail) => {
  const message = await mentioned(edits);
  const { slack } = world;
  slack.general.threads = "off";
  const reply = replyTo(world.platform, message);
  await reply.note({ key: "first", line: ["A line."] });
  fail();
  reply.ask(createCard(message)).catch(() => {});
  await slack.until(() => agents().some(({ buttons }) => buttons.length > 0));
  const card = agents().find(({ buttons }) => buttons.length > 0);
  const on = { channel: slack.general, ts: card?.ts ?? "" };
  await slack.interactions.click({ as: slack.ann, on, button: "Approve" }).acknowledged();
  expect(agent.answers).toMatchObject([{ conversationId: message.conversationId, choice: "approve" }]);
});

describe("a channel that takes replies only", () => {
  test("gets what is not in a thread in the thread where the agent wrote last", async () => {
    const message = await mentioned(edits);
    await replyTo(world.platform, message).finish("Earlier.", []);
    world.slack.general.threads = "only";
    const channel = message.conversationId.split(":").slice(0, 3).join(":");
    const daily = { ...message, id: `schedule:daily:${Date.now()}`, conversationId: channel };
    await replyTo(world.platform, daily).finish("The daily report.", []);
    expect(texts()).toEqual([
      "Earlier.",
      "Only replies in threads are allowed here, so I write here.",
      "The daily report.",
    ]);
    expect(places()).toEqual(new Set([message.id.split(":")[1]]));
  });

  test("tells a tool in words that it can't post there", async () => {
    const message = await mentioned(edits);
    const other = world.slack.workspace.addChannel({ name: "news", members: [world.slack.ann] });
    other.threads = "only";
    const place = { conversationId: message.conversationId, requester: message.author, channel: "#news" };
    const posted = world.platform.chat?.post(place, { text: "hello", files: [], key: "one" });
    await expect(posted).rejects.toThrow(/I can't write in that channel: only replies in threads are allowed there\.$/);
    await expect(posted).rejects.not.toThrow(aCode);
  });
});

test.each([
  ["restricted_action", "only some people may write there"],
  ["restricted_action_of_next_year", "an administrator has restricted it"],
  ["messages_tab_disabled", "direct messages with me are turned off in the app's settings"],
  ["something_entirely_new", "Slack doesn't let me"],
])("a place that refuses with %s has no route, in words, and every kind of output says so", async (refuses, why) => {
  const message = await mentioned(edits);
  world.slack.general.refuses = refuses;
  const reply = replyTo(world.platform, message);
  const noRoute = { code: "platform.no-route", plain: why };
  await expect(reply.ask(createCard(message))).rejects.toMatchObject(noRoute);
  await expect(reply.question(createQuestion(message))).rejects.toMatchObject(noRoute);
  await expect(reply.note({ key: "one", line: ["A line."] })).rejects.toMatchObject(noRoute);
  await expect(reply.finish("An answer.", report())).rejects.toMatchObject(noRoute);
  await expect(reply.fail("", "It failed.")).rejects.toMatchObject(noRoute);
  const calls = world.slack.callsOf("chat.postMessage");
  expect(calls.length).toBeLessThanOrEqual(14);
  const said = world.platform.health().detail;
  if (refuses === "something_entirely_new") expect(said).toContain("Slack refused a message: ");
  else expect(said).not.toContain("Slack refused a message");
});

test.each(["rate_limited", "message_limit_exceeded"])(
  "%s in an answer with HTTP 200 is waited for, and the message is there once",
  async (error) => {
    const message = await mentioned(edits);
    world.slack.failNext("chat.postMessage", { type: "error", error });
    await replyTo(world.platform, message).finish("Late, but there.", []);
    expect(texts()).toEqual(["Late, but there."]);
    expect(world.platform.health().detail).toContain("so Slack takes no more of them");
  },
);
