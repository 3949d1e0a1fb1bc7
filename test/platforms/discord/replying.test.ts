/** What replies look like while they grow and at the end, with their files. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { agent, bot, discord, mentioned, replyTo, useConnectedBot } from "./connected-bot.ts";
import { begun, own, sent, threadOf, toldPrivately } from "./replying-world.ts";

useConnectedBot();

describe("while the text grows", () => {
  test("the first words appear at once, there is at most one edit a second, and the last state is shown", async () => {
    const reply = replyTo(await mentioned());
    let text = "";
    const beganAt = performance.now();
    for (let word = 0; word < 40; word++) {
      text += `word${word} `;
      await reply.write(text);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await discord.until(() => sent("PATCH", "messages.edit").length >= 2);
    const seconds = (performance.now() - beganAt) / 1_000;
    await reply.finish(`${text}end.`, []);
    expect(discord.channel.threads().flatMap(own)).toHaveLength(1);
    const [first, ...edits] = [...sent("POST", "messages.create"), ...sent("PATCH", "messages.edit")];
    expect(first?.body).toMatchObject({ content: expect.stringMatching(/^word0\b/) });
    // Not from one to the next: on a busy machine, requests arrive late by different times.
    expect(edits.slice(0, -1).length).toBeLessThanOrEqual(seconds);
    expect(discord.channel.threads().flatMap(own).at(-1)?.content).toBe(`${text}end.`);
  });

  test("a partial text that can't be shown does no harm", async () => {
    const message = await toldPrivately();
    const reply = replyTo(message);
    const storm = discord.fail({ route: "messages.create", times: 1_000 }, { type: "answer", status: 503 });
    await reply.write("One");
    await reply.progress({ headline: "Working", tasks: [] });
    await discord.until(() => storm.hits.length > 0);
    storm.remove();
    await reply.finish("Done.", []);
    expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["Done."]);
  });

  test("a reply that is left to another process writes nothing more", async () => {
    const reply = replyTo(await toldPrivately());
    await begun(reply, "One", () => discord.ann.dm());
    await reply.write("One two");
    await reply.leave?.();
    await reply.write("One two three");
    const before = discord.requests.length;
    // Longer than an edit would wait.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(discord.requests.slice(before)).toEqual([]);
    expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["One"]);
  });

  test("a text longer than a message continues in further ones, with complete fences in each", async () => {
    const message = await toldPrivately();
    const reply = replyTo(message);
    const text = `Look:\n\n\`\`\`ts\n${"const value = 1;\n".repeat(200)}`;
    await begun(reply, text, () => discord.ann.dm());
    await discord.until(() => own(discord.ann.dm()).length === 2);
    const shown = own(discord.ann.dm()).map(({ content }) => content);
    expect(shown).toHaveLength(2);
    for (const content of shown) {
      expect(content.length).toBeLessThanOrEqual(2_000);
      expect(content.match(/```/g)).toHaveLength(2);
    }
    expect(shown[1]).toMatch(/^```ts\n/);
    await reply.finish(`${text}\`\`\`\n\nThat is all.`, []);
    expect(own(discord.ann.dm()).at(-1)?.content).toMatch(/That is all\.$/);
    expect(own(discord.ann.dm())).toHaveLength(2);
  });

  test("an answer of 20,000 characters is a file with its beginning as text, and further messages are deleted", async () => {
    const message = await toldPrivately();
    const reply = replyTo(message);
    const text = Array.from({ length: 1_000 }, (_, index) => `line ${index} of the text`).join("\n");
    await reply.write(text);
    await discord.until(() => own(discord.ann.dm()).length === 3);
    await reply.finish(text, []);
    const [only, ...more] = own(discord.ann.dm());
    expect(more).toEqual([]);
    expect(only?.content).toMatch(/^line 0 of the text\n[\s\S]*The full answer is in the file\.$/);
    expect(only?.files.map(({ name, text: content }) => [name, content])).toEqual([["answer.md", text]]);
  });

  test("without permission to attach files, a long answer is text", async () => {
    discord.channel.permit(discord.bot, { deny: ["AttachFiles"] });
    const message = await mentioned();
    const text = Array.from({ length: 800 }, (_, index) => `line ${index} of the text`).join("\n");
    await replyTo(message).finish(text, []);
    const shown = own(threadOf(message)).map(({ content }) => content);
    expect(shown.join("\n").match(/line \d+ of the text/g)).toHaveLength(800);
  });

  test("typing is shown until the text appears", async () => {
    const message = await toldPrivately();
    await discord.until(() => discord.ann.dm().typing().length === 1);
    await replyTo(message).finish("Done.", []);
    expect(discord.ann.dm().typing()).toHaveLength(1);
  });

  test("a channel has one typing indicator for any number of waiting mentions", async () => {
    const messages = [await mentioned("one"), await mentioned("two"), await mentioned("three")];
    for (const message of messages) await replyTo(message).finish("Done.", []);
    expect(discord.channel.typing()).toHaveLength(1);
  });

  test("typing is shown again after a post of the bot has hidden it", async () => {
    await replyTo(await toldPrivately()).finish("Done.", []);
    await toldPrivately();
    await discord.until(() => discord.ann.dm().typing().length === 2);
  });

  test("typing also ends when another process writes the answer", async () => {
    const other = discord.guild.addChannel("other");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], shouldAdvanceTime: true });
    const worker = bot.another();
    try {
      const [inChannel, inDm] = [await mentioned(), await toldPrivately()];
      await discord.until(() => discord.channel.typing().length === 1 && discord.ann.dm().typing().length === 1);
      for (const message of [inChannel, inDm])
        await worker.reply(targetOf(message), createPosts()).finish("From a worker.", []);
      // Whatever came before it has been seen.
      await mentioned("hello", other);
      for (const times of [1, 2]) {
        vi.advanceTimersByTime(8_000);
        await discord.until(() => other.typing().length >= times);
      }
      expect([discord.channel.typing(), discord.ann.dm().typing()].map(({ length }) => length)).toEqual([1, 1]);
    } finally {
      vi.useRealTimers();
      await worker.close();
    }
  });

  test("a message that a moderator deleted is posted again", async () => {
    const message = await mentioned();
    const posts = createPosts();
    const reply = replyTo(message, posts);
    await begun(reply, "Half", () => threadOf(message));
    const [half] = own(threadOf(message));
    threadOf(message)?.bulkDelete([half as SeenMessage]);
    await reply.finish("Whole.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Whole."]);
    await bot.platform.reply(targetOf(message), posts).finish("Whole again.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Whole again."]);
  });
});

test("answering a question does not change the text that continues below it", async () => {
  const message = await toldPrivately();
  const reply = replyTo(message);
  const question = createQuestion(message);
  await reply.question(question);
  await begun(reply, "Below", () => discord.ann.dm());
  await discord.until(() => own(discord.ann.dm()).some(({ content }) => content === "Below"));
  await reply.question({ ...question, isOpen: false });
  await reply.finish("Below the question.", []);
  const [asked, ...below] = own(discord.ann.dm()).map(({ content }) => content);
  expect(asked).toContain("The plugin deploy asks Ann");
  expect(below).toEqual(["Below the question."]);
});

describe("notifications", () => {
  test("no post or edit pings anybody or shows a link preview, whatever it contains", async () => {
    const role = discord.guild.addRole("crew", { isMentionable: true });
    discord.channel.permit(discord.bot, { allow: ["MentionEveryone"] });
    const bad = `@everyone @here ${discord.ben.mention} ${role.mention} https://evil.example/?q=secret [x](https://evil.example)`;
    const message = await mentioned(`say ${bad}`);
    const reply = replyTo(message);
    await begun(reply, bad, () => threadOf(message));
    await reply.progress({ headline: bad, current: bad, tasks: [] });
    await reply.finish(`${bad} ${bad}`, []);
    agent.notice = { text: bad };
    await mentioned("again");
    await discord.until(() => own(discord.channel).length === 1);
    for (const each of [...own(threadOf(message)), ...own(discord.channel)]) {
      expect(each.pings).toEqual({ users: [], roles: [], everyone: false });
      expect(each.previews).toEqual([]);
    }
    const bodies = [...sent("POST", "messages.create"), ...sent("PATCH", "messages.edit")].map(({ body }) => body);
    for (const body of bodies) expect(body).toMatchObject({ allowed_mentions: { parse: [] } });
  });

  test("every message that will be answered gets the configured reaction", async () => {
    await bot.restart({ ackReaction: "👀" });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await mentioned();
    const reactions = () => discord.message({ id: message.id, channelId: discord.channel.id })?.reactions ?? [];
    await discord.until(() => reactions().length === 1);
    expect(reactions()).toEqual([{ emoji: "👀", userIds: [discord.bot.id] }]);
  });
});

describe("files", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "remora-discord-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function file(name: string, content: string | Buffer) {
    const path = join(folder, name.replaceAll("/", "_"));
    await writeFile(path, content);
    return { name, path, mimeType: "text/plain" };
  }

  test("files that don't fit in a message are in further ones, and none is posted twice on a retry", async () => {
    const files = await Promise.all(Array.from({ length: 12 }, (_, index) => file(`${index}.txt`, `file ${index}`)));
    const message = await toldPrivately();
    const posts = createPosts();
    for (const _ of [1, 2]) await replyTo(message, posts).finish("All of them.", files);
    const shown = own(discord.ann.dm());
    expect(shown.map(({ content }) => content)).toEqual(["All of them.", ""]);
    expect(shown.flatMap((each) => each.files.map(({ text }) => text))).toEqual(
      files.map((_, index) => `file ${index}`),
    );
  });

  test("files are sent even if Slack's library has loaded a newer undici, and if processes share limits", async () => {
    await import("undici");
    // The web server replaces it.
    vi.stubGlobal("Response", class extends Response {});
    await bot.restart({ budget: { take: async () => 0, hold() {} } });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await toldPrivately();
    await replyTo(message).finish("Here.", [await file("notes.txt", "x")]);
    vi.unstubAllGlobals();
    expect(own(discord.ann.dm())).toMatchObject([{ content: "Here.", files: [{ name: "notes.txt" }] }]);
  });

  test("a file needs no text; a file that is too large or missing is named", async () => {
    const message = await toldPrivately();
    await replyTo(message).finish("", [await file("alone.txt", "x")]);
    expect(own(discord.ann.dm())).toMatchObject([{ content: "", files: [{ name: "alone.txt" }] }]);
    const next = await toldPrivately();
    const large = await file("large.bin", Buffer.alloc(10 * 1024 * 1024 + 1));
    await replyTo(next).finish("Here.", [
      large,
      { name: "gone.txt", path: join(folder, "gone"), mimeType: "text/plain" },
    ]);
    const text = own(discord.ann.dm()).at(-1)?.content;
    expect(text).toMatch(/^Here\.\n\n⚠️ I couldn't attach the file `large\.bin`: it has 10\.0 MiB/);
    expect(text).toContain("`gone.txt`");
  });

  test("without permission to attach files, the text says so", async () => {
    discord.channel.permit(discord.bot, { deny: ["AttachFiles"] });
    const message = await mentioned();
    await replyTo(message).finish("Here.", [await file("a.txt", "x")]);
    expect(own(threadOf(message))[0]?.content).toMatch(/^Here\.\n\n⚠️ I couldn't attach the file `a\.txt`/);
  });
});
