/** What Slack's session list and the head of a thread show of a turn: from its beginning to each way in which it can end. */
import { expect, test, vi } from "vitest";
import { createInbox } from "../../../src/engine/conversation/inbox.ts";
import { RemoraError } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { SlackApi } from "../../../src/platforms/slack/api/api.ts";
import { createAgentSessions } from "../../../src/platforms/slack/outbound/agent-sessions.ts";
import { sessionTitle } from "../../../src/platforms/slack/outbound/session-title.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Reply } from "../../../src/ports/platform.ts";
import { createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import { cardFor, replyTo } from "./agent.ts";
import { agent, agents, edits, mentioned, running, useReplies, world } from "./reply-world.ts";
import type { WorldOptions } from "./world.ts";

useReplies();

const working = "processing*";
const threadOf = (message: InboundMessage) => message.conversationId.split(":")[3] ?? "";
const states = (message: InboundMessage) => world.slack.sessions.states(world.slack.general, threadOf(message));
const sessionOf = (message: InboundMessage) => world.slack.sessions.of(world.slack.general, threadOf(message));
const tasks = [{ id: "c1", title: "Reading notes.md", state: "running" as const }];

interface Turn {
  message: InboundMessage;
  reply: Reply;
  posts: ReturnType<typeof createPosts>;
}

interface Ending {
  options?: WorldOptions;
  play(turn: Turn): Promise<void>;
  /** After `processing`, of which all can be stopped. */
  states: string[];
}

async function asked({ message, reply }: Turn) {
  await reply.write("I would like to");
  const card = cardFor(message, 1);
  await reply.ask(card);
  await reply.park();
  return card;
}

const done: Ending["play"] = async ({ reply }) => {
  await reply.write("Here");
  await reply.finish("Here it is.", []);
};

async function restarted({ message, posts }: Turn): Promise<Reply> {
  await world.restart();
  return replyTo(world.platform, message, posts);
}

const endings: Record<string, Ending> = {
  "an answer that is streamed": { play: done, states: ["active"] },
  "an answer that is edited": { options: edits, play: done, states: ["active"] },
  "an answer that comes at once": { play: async ({ reply }) => await reply.finish("Yes.", []), states: ["active"] },
  "an answer beyond the limit of streams": {
    async play(turn) {
      world.slack.failNext("chat.startStream", { type: "rate-limit", retryAfterSeconds: 30 });
      await done(turn);
    },
    states: ["active"],
  },
  "an answer after tools": {
    async play(turn) {
      await turn.reply.progress({ ...running("Reading notes.md"), tasks });
      await done(turn);
    },
    states: ["active"],
  },
  "an answer after the words of others, which is no stream": {
    async play(turn) {
      await turn.reply.write("Let me look");
      turn.reply.avoidPreviews?.();
      await done(turn);
    },
    states: ["active"],
  },
  "an answer whose stream Slack ended": {
    async play(turn) {
      await turn.reply.write("Here");
      world.slack.clock.advance(301_000);
      await done(turn);
    },
    states: ["active"],
  },
  "an answer that is too long for a stream": {
    async play({ reply }) {
      await reply.write("Here");
      await reply.finish("word ".repeat(4_000), []);
    },
    states: ["active"],
  },
  "a failure": { play: async ({ reply }) => await reply.fail("", "It failed."), states: ["active"] },
  "an approval": {
    async play(turn) {
      const card = await asked(turn);
      await turn.reply.settle(card);
      await turn.reply.progress(running("Running it"));
      await done(turn);
    },
    states: ["suspended", working, "active"],
  },
  "an approval of a card that was edited in": {
    options: edits,
    async play(turn) {
      const card = await asked(turn);
      await turn.reply.settle(card);
      await done(turn);
    },
    states: ["suspended", working, "active"],
  },
  "a card that nobody answers": { play: async (turn) => void (await asked(turn)), states: ["suspended"] },
  "a card that was delivered elsewhere": { play: async ({ reply }) => await reply.park(), states: ["suspended"] },
  "a card that expires after a restart": {
    async play(turn) {
      const card = await asked(turn);
      const reply = await restarted(turn);
      await reply.settle(card);
      await reply.fail("", "Nobody answered.");
    },
    states: ["suspended", "active"],
  },
  "a report of changes below the answer": {
    async play(turn) {
      await done(turn);
      const card = cardFor(turn.message, 1, { state: "consumed" });
      await turn.reply.ask(card);
    },
    states: ["active"],
  },
  "changes that are decided after the turn": {
    async play(turn) {
      await done(turn);
      await turn.reply.ask(cardFor(turn.message, 1));
      world.work.here = "none";
      await (await restarted(turn)).settle(cardFor(turn.message, 1, { state: "consumed" }));
    },
    states: ["active", "suspended", "active"],
  },
  "an answer while an older card of the thread waits": {
    async play(turn) {
      world.work.besides = "waiting";
      await done(turn);
    },
    states: ["suspended"],
  },
  "a line about the queue whose message has joined the turn that runs": {
    async play({ reply }) {
      world.work.besides = "running";
      await reply.progress({ ...running("Waiting: 1 request before yours"), isQueued: true });
      await reply.finish("", []);
    },
    states: [],
  },
  "a question during which the progress goes on": {
    async play(turn) {
      const question = createQuestion(turn.message);
      await turn.reply.question(question);
      await turn.reply.progress(running("Waiting"));
      await turn.reply.question({ ...question, isOpen: false });
      await done(turn);
    },
    states: ["suspended", working, "active"],
  },
  "a click on Slack's stop button in a stream": {
    async play({ message, reply }) {
      await reply.write("I go on and");
      agent.unanswered = [message];
      const deliveries = world.slack.people.stopStream(world.slack.ann, {
        ts: threadOf(message),
        channel: world.slack.general,
      });
      await Promise.all(deliveries.map((delivery) => delivery.acknowledged()));
      await reply.fail("I go on and", "Stopped.");
    },
    states: ["active"],
  },
  "a kill in the middle of a stream": {
    async play(turn) {
      await turn.reply.write("Here");
      await (await restarted(turn)).finish("Here it is.", []);
    },
    states: ["active"],
  },
  "a kill before the first word, after which the turn is given up": {
    play: async (turn) => await (await restarted(turn)).fail("", "I gave up."),
    states: ["active"],
  },
  "an answer that Slack refuses here, so that it goes elsewhere": {
    async play({ reply }) {
      world.slack.failNext("chat.postMessage", { type: "error", error: "restricted_action" });
      await expect(reply.finish("Here it is.", [])).rejects.toMatchObject({ code: "platform.no-route" });
    },
    states: ["active"],
  },
  "a message that is taken back before its turn": {
    async play({ message }) {
      await takenBack(message);
    },
    states: ["active"],
  },
  "a message that is taken back after a restart, before its turn": {
    async play({ message }) {
      await world.restart();
      await world.platform.connect(agent.handlers, new AbortController().signal);
      await takenBack(message);
    },
    states: ["active"],
  },
  "a conversation that a person ends": {
    async play(turn) {
      await done(turn);
      world.work.here = "none";
      await world.platform.ended?.(turn.message.conversationId);
      await world.slack.people
        .say({ as: world.slack.ann, in: world.slack.general, thread: threadOf(turn.message), text: "@Remora and?" })
        .acknowledged();
    },
    states: ["active", "closed", working],
  },
  "a conversation that a person ends while a turn runs": {
    async play(turn) {
      await turn.reply.write("Here");
      await world.platform.ended?.(turn.message.conversationId);
      await done(turn);
    },
    states: ["active"],
  },
};

async function takenBack(message: InboundMessage): Promise<void> {
  const root = world.slack.state.message(world.slack.general.id, threadOf(message));
  if (root === undefined) throw new Error("no message");
  const inbox = createInbox(world.ledger);
  await inbox.keep(message);
  await inbox.withdraw(`slack:${message.id}`);
  world.work.here = "none";
  world.slack.people.remove({ message: root } as Parameters<typeof world.slack.people.remove>[0]);
}

test.each(Object.entries(endings))("%s leaves the session in the state that is true", async (_, ending) => {
  const message = await mentioned(ending.options);
  const posts = createPosts();
  await expect.poll(() => states(message)).toEqual([working]);
  await ending.play({ message, posts, reply: replyTo(world.platform, message, posts) });
  await expect.poll(() => states(message)).toEqual([working, ...ending.states]);
  expect(sessionOf(message)).toMatchObject({ title: "hello", initiator: world.slack.ann.id });
});

test("a plain answer, tools and a card cost no more requests than before sessions had states", async () => {
  const message = await mentioned();
  await expect.poll(() => states(message)).toEqual([working]);
  const { slack } = world;
  /** Without partial texts, which depend on the time that they take. */
  const counted = (from: number) =>
    slack.calls
      .slice(from)
      .map(({ method }) => method)
      .filter((method) => /Stream|setStatus|rename|post|update/.test(method))
      .filter((method) => method !== "chat.appendStream");
  expect(counted(0)).toEqual(["agents.sessions.setStatus"]);
  const turn = (turnId: string) => world.platform.reply({ ...targetOf(message), turnId }, createPosts());

  let from = slack.calls.length;
  await done({ message, reply: turn("plain"), posts: createPosts() });
  expect(counted(from)).toEqual(["chat.startStream", "chat.stopStream"]);

  from = slack.calls.length;
  const tools = turn("tools");
  for (const headline of ["Thinking", "Thinking more"]) await tools.progress(running(headline));
  await tools.progress({ ...running("Reading notes.md"), tasks });
  await tools.finish("Here it is.", []);
  expect(counted(from)).toEqual(["agents.sessions.setStatus", "chat.startStream", "chat.stopStream", "chat.update"]);

  from = slack.calls.length;
  const approval = turn("card");
  const card = await asked({ message, reply: approval, posts: createPosts() });
  await approval.settle(card);
  await done({ message, reply: approval, posts: createPosts() });
  expect(counted(from)).toEqual([
    ...["agents.sessions.setStatus", "chat.startStream", "chat.stopStream", "chat.postMessage", "chat.update"],
    ...["agents.sessions.setStatus", "chat.startStream", "chat.stopStream"],
  ]);
});

test("processing is renewed before Slack's hour is over, and only then", async () => {
  const message = await mentioned();
  await expect.poll(() => states(message)).toEqual([working]);
  const { slack } = world;
  const { now } = Date;
  let aheadMs = 0;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
  const reply = replyTo(world.platform, message);
  for (let minutes = 0; minutes <= 180; minutes += 5) {
    await reply.progress(running("Thinking"));
    await expect
      .poll(() => slack.callsOf("agents.sessions.setStatus").filter(({ answer }) => answer !== undefined).length)
      .toBe(1 + Math.floor(minutes / 45));
    aheadMs += 5 * 60_000;
    slack.clock.advance(0);
  }
  clock.mockRestore();
  expect(states(message)).toEqual([working]);
});

test.each(["internal_error", "ratelimited", "not_in_channel", "missing_scope", "never_heard_of_it"])(
  "an answer is there although Slack refuses the state of its thread with %s",
  async (error) => {
    const message = await mentioned();
    world.slack.fail("agents.sessions.setStatus", { type: "error", error });
    const started = Date.now();
    await replyTo(world.platform, message).finish("Here it is.", []);
    expect(agents().map(({ readable }) => readable)).toEqual(["Here it is."]);
    expect(Date.now() - started).toBeLessThan(30_000);
  },
);

test.each(["internal_error", "rate_limited"])(
  "a session has its title although Slack answers %s to the first call that names it",
  async (error) => {
    const prepare = ({ slack }: typeof world) => slack.failNext("agents.sessions.setStatus", { type: "error", error });
    const message = await mentioned({ prepare });
    const reply = replyTo(world.platform, message);
    await reply.write("Once upon");
    await reply.finish("Once upon a time.", []);
    await expect.poll(() => sessionOf(message)?.title).toBe(sessionTitle(message));
  },
);

test("the end of the work is tried a few times more, later, where Slack refuses it", async () => {
  vi.useFakeTimers();
  const states: unknown[] = [];
  let isOpen = true;
  const refusal = new RemoraError({
    code: "slack.restricted_action",
    place: "slack",
    message: "no",
    isRetryable: false,
  });
  const call: SlackApi["call"] = async (_method, { status }, schema) => {
    states.push(status);
    if (!isOpen) throw refusal;
    return schema.parse({});
  };
  const ended = new AbortController();
  const rateLimiter = { take: () => 0 };
  const sessions = createAgentSessions({ api: { call }, rateLimiter, log: silentLog, signal: ended.signal });
  const [one, other] = [sessions("C1", "1.000000"), sessions("C1", "2.000000")];
  for (const session of [one, other]) await session.set("processing");
  isOpen = false;
  void other.set("active");
  await vi.advanceTimersByTimeAsync(600_000);
  expect(states.filter((state) => state === "active")).toHaveLength(9);
  void one.set("active");
  await vi.advanceTimersByTimeAsync(30_000);
  isOpen = true;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(states.filter((state) => state === "active")).toHaveLength(13);
  ended.abort();
  vi.useRealTimers();
});

test.each([
  ["compare: #layoffs (C012AB3CD) with #C99ZZ8YYX", "compare – #… with #…"],
  [
    "is the page (https://x.dev/?token=abc) or https://y.dev/z better, @Ben (U012AB3CD)?",
    "is the page or … better, @Ben?",
  ],
  ["at 09:30\n\nplease", "at 09.30 please"],
  ["x".repeat(300), `${"x".repeat(59)}…`],
])("the title of %j names neither channels, which may be private, nor addresses", (text, title) => {
  expect(sessionTitle({ text })).toBe(title);
});

test("a person's title of a session stays", async () => {
  const message = await mentioned();
  const { slack } = world;
  await expect.poll(() => sessionOf(message)?.title).toBe("hello");
  const thread = threadOf(message);
  for (const each of slack.sessions.rename(slack.ben, slack.general, thread, "Ben's")) await each.acknowledged();
  await replyTo(world.platform, message).finish("Yes.", []);
  await slack.people.say({ as: slack.ann, in: slack.general, thread, text: "and more" }).acknowledged();
  await expect.poll(() => states(message)).toEqual([working, "active", working]);
  expect(sessionOf(message)).toMatchObject({ title: "Ben's", titledBy: slack.ben.id });
});

test.each([
  ["is named by the question", false, "hello"],
  ["keeps the title of a person who was quicker", true, "Ben's"],
])("a session that a stream made %s", async (_, isRenamed, title) => {
  const message = await mentioned({
    prepare: ({ slack }) => slack.failNext("agents.sessions.setStatus", { type: "rate-limit", retryAfterSeconds: 1 }),
  });
  const { slack } = world;
  const reply = replyTo(world.platform, message);
  await reply.write("Here");
  expect(sessionOf(message)?.title).toBeUndefined();
  const card = cardFor(message, 1);
  await reply.ask(card);
  if (isRenamed)
    for (const each of slack.sessions.rename(slack.ben, slack.general, threadOf(message), "Ben's"))
      await each.acknowledged();
  const { now } = Date;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 31_000);
  await reply.settle(card);
  await reply.progress(running("Running it"));
  await expect.poll(() => states(message)).toEqual([working, "suspended", working]);
  await expect.poll(() => sessionOf(message)?.title).toBe(title);
  clock.mockRestore();
});

test("an app that is no agent gets a text, which goes at the end, and the log says so once", async () => {
  const message = await mentioned({
    prepare: ({ slack }) => void Object.assign(slack.state.agent, { isDeclared: false }),
  });
  const { slack } = world;
  const text = () => slack.assistant.thread(slack.general, threadOf(message))?.status;
  await expect.poll(text).toBe("is working on it");
  await replyTo(world.platform, message).finish("Yes.", []);
  await expect.poll(text).toBe("");
  expect(world.logged.filter((line) => line.includes("does not treat this app as an agent"))).toHaveLength(1);
  const tried = slack.callsOf("agents.sessions.setStatus").length;
  await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora again" }).acknowledged();
  await expect.poll(() => slack.callsOf("assistant.threads.setStatus").length).toBe(3);
  expect(slack.callsOf("agents.sessions.setStatus")).toHaveLength(tried);
});

test("once Slack has ended the texts of older apps, their answers show the progress as a line", async () => {
  const message = await mentioned({
    prepare: ({ slack }) => void Object.assign(slack.state.agent, { isDeclared: false, hasAssistantThreads: false }),
  });
  const { slack } = world;
  await slack.until(() => slack.callsOf("assistant.threads.setStatus").some(({ answer }) => answer !== undefined));
  const reply = replyTo(world.platform, message);
  const shown = async () => {
    await reply.progress(running("Thinking hard"));
    return agents().map(({ readable }) => readable);
  };
  await expect.poll(shown).toEqual([expect.stringContaining("Thinking hard")]);
  await reply.finish("Yes.", []);
  expect(agents().map(({ readable }) => readable)).toEqual(["Yes."]);
});

test("an app without the stop event learns from the log what is missing", async () => {
  const message = await mentioned({ prepare: ({ slack }) => slack.state.agent.events.clear() });
  await expect.poll(() => states(message)).toEqual(["processing"]);
  await expect.poll(() => world.logged.some((line) => line.includes("agent_session_stopped"))).toBe(true);
});
