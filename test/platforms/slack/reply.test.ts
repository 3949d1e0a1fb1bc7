/** What a reply posts: its text, blocks, files and metadata, and where. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";
import { replyTo } from "./agent.ts";
import { agent, agents, edits, mentioned, running, useReplies, world } from "./reply-world.ts";

useReplies();

describe("what a reply posts", () => {
  test("previews are off, nobody is pinged, and the metadata name turn and key", async () => {
    const message = await mentioned(edits);
    await replyTo(world.platform, message).finish(
      "<!channel> <@U1> see https://example.com and <https://evil.example|your bank>",
      [],
    );
    const [call] = world.slack.callsOf("chat.postMessage");
    expect(call?.args).toMatchObject({
      unfurl_links: "false",
      unfurl_media: "false",
      metadata: { event_type: "remora_post", event_payload: { turn: `turn-${message.id}`, key: "text:0" } },
    });
    const [shown] = agents();
    expect(shown?.effects.filter((effect) => effect.type !== "link" || effect.label !== undefined)).toEqual([]);
  });

  test("over 12,000 characters, the message has the beginning, and a file below it has the whole text", async () => {
    const message = await mentioned();
    const text = Array.from({ length: 900 }, (_, index) => `${index}. a line of <some> length`).join("\n");
    const reply = replyTo(world.platform, message);
    await reply.write(text.slice(0, 9_000));
    await reply.finish(text, []);
    const [head, file, ...more] = agents();
    expect(more).toEqual([]);
    expect(head?.readable).toContain("0. a line of <some> length");
    expect(head?.readable).toContain("is in the file below");
    expect(file?.files).toMatchObject([{ name: "answer.md", content: text }]);
    expect(file?.threadTs).toBe(head?.threadTs);
  });

  test.each(["native", "edits"] as const)(
    "a character that is cut in halves stops no answer (%s)",
    async (streaming) => {
      const message = await mentioned({ changes: { streaming } });
      const text = `${"a".repeat(1_499)}😀 ends here`;
      const reply = replyTo(world.platform, message);
      await reply.write(`${"a".repeat(1_499)}\uD83D`);
      await reply.finish(text, []);
      expect(agents().map((each) => each.readable)).toEqual([text]);
      await replyTo(world.platform, message, createPosts()).finish(text, []);
      await replyTo(world.platform, message, createPosts()).finish("half of one: \uD83D", []);
      expect(agents().at(-1)?.readable).toBe("half of one: \uFFFD");
      expect(agents().every((each) => each.text.isWellFormed() && each.readable.isWellFormed())).toBe(true);
    },
  );

  test("an answer that can't be a file continues in messages below its beginning", async () => {
    const message = await mentioned();
    const { slack } = world;
    for (const token of slack.tokens.values()) token.scopes = token.scopes.filter((scope) => scope !== "files:write");
    const text = Array.from({ length: 3_000 }, (_, index) => `word${index}`).join("\n");
    await replyTo(world.platform, message).finish(text, []);
    const [, ...below] = agents();
    const all = below.map((each) => each.readable).join("\n");
    expect(all).toContain("I couldn't attach the file `answer.md`");
    expect(all).toContain("files:write");
    expect(all.match(/word\d+/g)).toEqual(text.split("\n"));
  });

  test("a file that Slack does not share is named below the answer", async () => {
    const message = await mentioned();
    const folder = await mkdtemp(join(tmpdir(), "remora-files-"));
    await writeFile(join(folder, "made.txt"), "made");
    world.slack.failNext("files.completeUploadExternal", { type: "error", error: "posting_to_channel_denied" });
    await replyTo(world.platform, message).finish("Here it is.", [
      { name: "made.txt", mimeType: "text/plain", path: join(folder, "made.txt") },
    ]);
    await rm(folder, { recursive: true });
    expect(agents().map((each) => each.readable)).toEqual([
      "Here it is.",
      expect.stringContaining("I couldn't attach the file `made.txt`"),
    ]);
  });

  test("if Slack refuses the blocks, the whole text is posted without them", async () => {
    const message = await mentioned(edits);
    const text = Array.from({ length: 300 }, (_, index) => `- item ${index} of **many**`).join("\n");
    world.slack.failNext("chat.postMessage", { type: "error", error: "invalid_blocks" });
    await replyTo(world.platform, message).finish(text, []);
    const all = agents()
      .map((each) => each.readable)
      .join("\n");
    expect(all.match(/item \d+ of \*many\*/g)).toHaveLength(300);
  });

  test("a message that somebody deleted is posted again", async () => {
    const message = await mentioned(edits);
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    await reply.write("Half");
    const stored = slack.state.messages.find((each) => each.ts === agents()[0]?.ts);
    slack.state.messages.splice(slack.state.messages.indexOf(stored as never), 1);
    await reply.finish("Half and whole.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Half and whole."]);
  });

  test.each([
    ["is_archived", { isArchived: true }],
    ["restricted_action", { isReadOnly: true }],
  ])("%s: the reply says why it can't be shown", async (error, change) => {
    const message = await mentioned(edits);
    Object.assign(world.slack.general, change);
    await expect(replyTo(world.platform, message).finish("hello", [])).rejects.toThrow(error);
  });

  test("if the thread was deleted, the reply is in the channel", async () => {
    const message = await mentioned(edits);
    const { slack } = world;
    slack.state.messages.splice(
      slack.state.messages.findIndex(({ ts }) => message.id.endsWith(ts)),
      1,
    );
    await replyTo(world.platform, message).finish("All the same.", []);
    expect(agents()).toMatchObject([
      { readable: "The thread is gone, so I write here.", threadTs: undefined },
      { readable: "All the same.", threadTs: undefined },
    ]);
  });

  test("not_in_channel: the reply says to invite it", async () => {
    const message = await mentioned(edits);
    world.slack.general.members.delete(world.slack.workspace.app.id);
    await expect(replyTo(world.platform, message).finish("hello", [])).rejects.toThrow(/not_in_channel.*\/invite/);
  });

  test("a post of the agent in a channel begins a thread of the agent", async () => {
    const message = await mentioned(edits);
    const { slack } = world;
    const conversationId = message.conversationId.split(":").slice(0, 3).join(":");
    const target = { ...targetOf(message), conversationId, messageId: "schedule:ab12:1700000000000" };
    await world.platform.reply(target, createPosts()).finish("Good morning!", []);
    const [posted] = agents();
    expect(posted?.threadTs).toBeUndefined();
    await slack.people
      .say({ as: slack.ben, in: slack.general, thread: posted?.ts ?? "", text: "and to you" })
      .acknowledged();
    expect(agent.kept.at(-1)).toMatchObject({ isAddressed: true, text: "and to you" });
  });

  test("a text that Slack finds too long is posted in parts", async () => {
    const message = await mentioned(edits);
    const text = Array.from({ length: 400 }, (_, index) => `word ${index}`).join(" ");
    world.slack.failNext("chat.postMessage", { type: "error", error: "msg_too_long" });
    await replyTo(world.platform, message).finish(text, []);
    expect(
      agents()
        .map((each) => each.readable)
        .join(" ")
        .match(/word \d+/g),
    ).toHaveLength(400);
  });

  test("an empty end removes the status and posts nothing", async () => {
    const message = await mentioned(edits);
    const reply = replyTo(world.platform, message);
    await reply.progress(running("Thinking"));
    await reply.finish("", []);
    expect(agents()).toEqual([]);
  });

  test("files that Slack refuses are named in the text", async () => {
    const message = await mentioned(edits);
    const folder = await mkdtemp(join(tmpdir(), "remora-slack-"));
    const path = join(folder, "data.csv");
    await writeFile(path, "a,b\n");
    world.slack.failNext("files.getUploadURLExternal", {
      type: "error",
      error: "missing_scope",
      body: { needed: "files:write" },
    });
    await replyTo(world.platform, message).finish("Here.", [{ name: "data.csv", path, mimeType: "text/csv" }]);
    await rm(folder, { recursive: true });
    expect(
      agents()
        .map((each) => each.readable)
        .join(),
    ).toContain("I couldn't attach the file `data.csv`");
    expect(world.platform.health().detail).toContain("files:write");
  });
});
