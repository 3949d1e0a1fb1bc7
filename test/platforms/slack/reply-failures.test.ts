/** Replies after crashes and while Slack fails: nothing is lost or posted twice. */
import { describe, expect, test } from "vitest";
import type { Posts } from "../../../src/ports/platform.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform-world.ts";
import { replyTo } from "./agent.ts";
import { agents, edits, keys, mentioned, running, useReplies, world } from "./reply-world.ts";

useReplies();

describe("nothing twice", () => {
  /** Stores ids until the process dies at `diesAt`. Ids not stored by then are lost. */
  function mortalPosts(diesAt: string): { before: Posts; after: Posts } {
    const kept = new Map<string, string>();
    const all = async () => [...kept].map(([key, messageId]) => ({ key, messageId }));
    return {
      before: {
        all,
        async keep(key, messageId) {
          if (key === diesAt) throw new Error("the process died");
          kept.set(key, messageId);
        },
      },
      after: { all, keep: async (key, messageId) => void kept.set(key, messageId) },
    };
  }

  test.each([
    ["a post", edits],
    ["a stream", {}],
  ] as const)("%s whose ts was lost in a crash is found by its marks, and goes on", async (_name, options) => {
    const message = await mentioned(options);
    const posts = mortalPosts("text:0");
    await replyTo(world.platform, message, posts.before).write("Half an");
    expect(agents()).toHaveLength(1);
    await world.restart();
    const reply = replyTo(world.platform, message, posts.after);
    await reply.write("Half an answer");
    await reply.finish("Half an answer, made whole.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Half an answer, made whole."]);
    expect(keys()).toEqual(["text:0"]);
  });

  test.each([
    ["written by edits", edits],
    ["streamed", {}],
  ] as const)("an answer %s outside its locked thread is found there after a crash", async (_, how) => {
    const message = await mentioned(how);
    for (const each of world.slack.state.messages) each.isThreadLocked = true;
    const posts = mortalPosts("text:0");
    await expect(replyTo(world.platform, message, posts.before).finish("The answer.", [])).rejects.toThrow("died");
    await world.restart();
    await replyTo(world.platform, message, posts.after).finish("The answer.", []);
    expect(agents().map((each) => each.readable)).toEqual(["The thread is locked, so I write here.", "The answer."]);
  });

  test("a stream whose ts was lost in a crash ends, even if another process posts a card first", async () => {
    const message = await mentioned();
    const posts = mortalPosts("");
    const dying = {
      ...posts.before,
      keep: (key: string, id: string) => (key === "text:0" ? new Promise<void>(() => {}) : posts.before.keep(key, id)),
    };
    void replyTo(world.platform, message, dying).write("Working on it.");
    await world.slack.until(() => agents()[0]?.streaming === "in_progress");
    await world.restart();
    await replyTo(world.platform, message, posts.after).ask(createCard(message));
    expect(agents().map(({ streaming }) => streaming === "in_progress")).toEqual([false, false]);
  });

  test("a queue line that was never posted does not remove another turn's stream", async () => {
    const message = await mentioned();
    const answer = replyTo(world.platform, message);
    await answer.write("I am writ");
    const waiting = () => world.platform.reply({ ...targetOf(message), turnId: "waiting" }, posts);
    const posts = createPosts();
    const back = world.slack.fail("chat.postMessage", { type: "http", status: 503 });
    await waiting().progress({ ...running("Waiting"), isQueued: true });
    expect(world.slack.callsOf("chat.postMessage").length).toBeGreaterThan(0);
    back();
    await waiting().finish("", []);
    expect(agents()).toMatchObject([{ readable: "I am writ", streaming: "in_progress" }]);
    await answer.finish("I am writing.", []);
    expect(agents().map(({ readable }) => readable)).toEqual(["I am writing."]);
  });

  test("after a connection that broke once the message was posted, the message is found and not posted again", async () => {
    const message = await mentioned(edits);
    world.slack.failNext("chat.postMessage", { type: "cut", after: true });
    await replyTo(world.platform, message).finish("Once.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Once."]);
  });

  test("after a connection that broke before the message was posted, the message is posted", async () => {
    const message = await mentioned(edits);
    world.slack.failNext("chat.postMessage", { type: "cut" }, { type: "http", status: 502 });
    await replyTo(world.platform, message).finish("Once.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Once."]);
  });

  test("while Slack fails, finishing fails, and the same call later posts once", async () => {
    const message = await mentioned(edits);
    const posts = createPosts();
    const failure = { type: "http", status: 503 } as const;
    world.slack.failNext("chat.postMessage", failure, failure, failure, failure);
    const finish = () => replyTo(world.platform, message, posts).finish("Once.", []);
    await expect(finish()).rejects.toMatchObject({ code: "platform.away", isRetryable: true });
    await finish();
    expect(agents().map((each) => each.readable)).toEqual(["Once."]);
  });

  test("a card waits while the token is refused, because Slack may accept it again", async () => {
    const message = await mentioned(edits);
    const token = world.slack.tokens.get(world.slack.botToken);
    if (token === undefined) throw new Error("the double has no bot token");
    const posts = createPosts();
    const ask = () => replyTo(world.platform, message, posts).ask(createCard(message));
    token.state = "revoked";
    await expect(ask()).rejects.toMatchObject({ code: "platform.away" });
    token.state = "active";
    await ask();
    expect(agents()).toHaveLength(1);
  });
});
