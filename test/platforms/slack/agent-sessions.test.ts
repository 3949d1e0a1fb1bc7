/** What Slack's session list and the head of a thread show of a turn: from its beginning to each way in which it can end. */
import { expect, test } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Reply } from "../../../src/ports/platform.ts";
import { createPosts, createQuestion } from "../../conformance/platform-world.ts";
import { cardFor, replyTo } from "./agent.ts";
import { agent, edits, mentioned, running, useReplies, world } from "./reply-world.ts";
import type { WorldOptions } from "./world.ts";

useReplies();

const working = "processing*";
const threadOf = (message: InboundMessage) => message.conversationId.split(":")[3] ?? "";
const states = (message: InboundMessage) => world.slack.sessions.states(world.slack.general, threadOf(message));
const sessionOf = (message: InboundMessage) => world.slack.sessions.of(world.slack.general, threadOf(message));
const _requests = () => world.slack.calls.map(({ method }) => method);
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
      const root = world.slack.state.message(world.slack.general.id, threadOf(message));
      if (root === undefined) throw new Error("no message");
      world.slack.people.remove({ message: root } as Parameters<typeof world.slack.people.remove>[0]);
    },
    states: ["active"],
  },
};

test.each(Object.entries(endings))("%s leaves the session in the state that is true", async (_, ending) => {
  const message = await mentioned(ending.options);
  const posts = createPosts();
  await expect.poll(() => states(message)).toEqual([working]);
  await ending.play({ message, posts, reply: replyTo(world.platform, message, posts) });
  await expect.poll(() => states(message)).toEqual([working, ...ending.states]);
  expect(sessionOf(message)).toMatchObject({ title: "hello", initiator: world.slack.ann.id });
});
