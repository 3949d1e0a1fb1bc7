/** Replies while connections break, the service fails or the process dies: nothing is lost or posted twice. */
import { describe, expect, test, vi } from "vitest";
import type { Posts } from "../../../src/ports/platform.ts";
import { createCard, createPosts } from "../../conformance/platform-world.ts";
import { bot, discord, mentioned, replyTo, useConnectedBot } from "./connected-bot.ts";
import { own, threadOf, toldPrivately } from "./replying-world.ts";

useConnectedBot();

describe("failures of the connection and the service", () => {
  const storms = [
    ["the connection breaks before", { type: "cut", when: "before" }],
    ["the connection breaks in the middle of the answer", { type: "cut", when: "during" }],
    ["the service fails", { type: "answer", status: 500 }],
    ["the service does it and says that it failed", { type: "answer", status: 502, isDone: true }],
    ["the limit is reached", { type: "rate-limit", retryAfterSeconds: 0.3 }],
    ["the limit of everything is reached", { type: "rate-limit", retryAfterSeconds: 0.3, scope: "global" }],
  ] as const;

  test.each(storms)(
    "%s: the answer is posted once",
    async (_what, fault) => {
      const message = await mentioned();
      discord.fail({ route: "messages.create", times: 1 }, fault);
      discord.fail({ route: "threads.create-from-message", times: 1 }, fault);
      await replyTo(message).finish("Only once.", []);
      expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Only once."]);
      expect(own(discord.channel)).toEqual([]);
    },
    20_000,
  );

  test.each(storms)(
    "%s: the final text is shown",
    async (_what, fault) => {
      const message = await toldPrivately();
      const reply = replyTo(message);
      await reply.write("Half");
      discord.fail({ route: "messages.edit", times: 1 }, fault);
      await reply.finish("Whole.", []);
      expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["Whole."]);
    },
    20_000,
  );

  test.each(storms)(
    "%s: a card is posted once, and is updated",
    async (_what, fault) => {
      const message = await toldPrivately();
      const reply = replyTo(message);
      discord.fail({ route: "messages.create", times: 1 }, fault);
      discord.fail({ route: "messages.edit", times: 1 }, fault);
      await reply.ask(createCard(message));
      await reply.settle(createCard(message, { state: "denied", choices: [], outcome: "Denied by Ann" }));
      const [card, ...more] = own(discord.ann.dm());
      expect(more).toEqual([]);
      expect(card?.buttons).toEqual([]);
    },
    20_000,
  );

  test("while the token is refused, finishing fails, and later it posts once", async () => {
    const message = await mentioned();
    const posts = createPosts();
    const body = { code: 0, message: "401: Unauthorized" };
    const outage = discord.fail({ times: Number.POSITIVE_INFINITY }, { type: "answer", status: 401, body });
    const finish = () => replyTo(message, posts).finish("Once.", []);
    await expect(finish()).rejects.toMatchObject({ code: "platform.away", isRetryable: true });
    outage.remove();
    await finish();
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Once."]);
  });

  test("a limit of an hour is not waited for: no more requests until it ends, and then one answer", async () => {
    const message = await toldPrivately();
    const posts = createPosts();
    const limit = discord.fail(
      { route: "messages.create", times: Number.POSITIVE_INFINITY },
      { type: "rate-limit", retryAfterSeconds: 3_600 },
    );
    const finish = () => replyTo(message, posts).finish("Once.", []);
    const reason = /The rate limit of POST .* was reached\. Wait \d+ s\./;
    await expect(finish()).rejects.toThrow(reason);
    await expect(finish()).rejects.toMatchObject({ code: "platform.away", isRetryable: true });
    expect(limit.hits).toHaveLength(1);
    limit.remove();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61 * 60_000 });
    await finish().finally(() => vi.useRealTimers());
    expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["Once."]);
  });

  test("a text posted before a crash is edited to the new text", async () => {
    const message = await mentioned();
    const forgetful: Posts = {
      all: async () => [],
      keep: async (key) => (key.startsWith("try:") ? undefined : await new Promise(() => {})),
    };
    void replyTo(message, forgetful).write("Half");
    await discord.until(() => own(threadOf(message)).length === 1);
    await bot.restart();
    await replyTo(message).finish("Whole.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Whole."]);
  });

  test("a process that dies between posting and storing the id posts nothing twice", async () => {
    const message = await mentioned();
    const forgetful: Posts = {
      all: async () => [],
      keep: async (key) => (key.startsWith("try:") ? undefined : await new Promise(() => {})),
    };
    void replyTo(message, forgetful).finish("Once.", []);
    await discord.until(() => own(threadOf(message)).length === 1);
    await bot.restart();
    await replyTo(message).finish("Once.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Once."]);
  });
});
