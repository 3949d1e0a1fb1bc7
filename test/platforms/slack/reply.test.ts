/** How replies are written: streams and edits, their limits, and that nothing is posted twice. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Posts } from "../../../src/ports/platform.ts";
import type { Progress } from "../../../src/ports/progress.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform.ts";
import type { SeenMessage } from "../../doubles/slack/see.ts";
import type { Channel } from "../../doubles/slack/state.ts";
import { createTestAgent, replyTo, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld, type WorldOptions } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;
afterEach(() => world.close());

async function mentioned(options: WorldOptions = {}, where?: (world: SlackWorld) => Channel): Promise<InboundMessage> {
  world = await createSlackWorld(options);
  const { slack } = world;
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  const channel = where?.(world) ?? slack.general;
  await slack.people.say({ as: slack.ann, in: channel, text: "@Remora hello" }).acknowledged();
  const [message] = agent.kept;
  if (message === undefined) throw new Error("nothing was heard");
  return message;
}

function running(headline: string): Progress {
  return { headline, current: headline, since: Date.now() - 60_000, tasks: [] };
}

const edits: WorldOptions = { changes: { streaming: "edits" } };
const inDm = ({ slack }: SlackWorld) => slack.workspace.direct(slack.ann);

function agents(): SeenMessage[] {
  const { slack } = world;
  return [...slack.state.channels.values()]
    .flatMap((channel) => slack.see({ in: channel }))
    .filter((each) => each.isAgents);
}

function keys(): string[] {
  return agents().map((each) => String((each.metadata?.event_payload as { key?: string } | undefined)?.key));
}

describe("a native stream", () => {
  test("the first words are there at once, to the person who asked, in the thread of the mention", async () => {
    const message = await mentioned();
    const reply = replyTo(world.platform, message);
    await reply.write("First words");
    const { slack } = world;
    const [started] = slack.callsOf("chat.startStream");
    expect(started?.args).toMatchObject({
      recipient_user_id: slack.ann.id,
      recipient_team_id: slack.state.team.id,
      markdown_text: "First words",
    });
    expect(agents()).toMatchObject([{ readable: "First words", streaming: "in_progress" }]);
    await reply.finish("First words, and the **last**.", []);
    expect(agents()).toMatchObject([{ readable: "First words, and the **last**.", streaming: "completed" }]);
    expect(slack.callsOf("chat.update")).toEqual([]);
    expect(keys()).toEqual(["text:0"]);
  });

  test("it grows by what is new, and gathers what comes in between", async () => {
    const message = await mentioned();
    const reply = replyTo(world.platform, message);
    for (const text of ["One", "One two", "One two three", "One two three four"]) await reply.write(text);
    await world.slack.until(() => agents()[0]?.readable === "One two three four");
    expect(world.slack.callsOf("chat.appendStream").map((call) => call.args.markdown_text)).toEqual([
      " two three four",
    ]);
    await reply.finish("One two three four.", []);
    expect(agents()).toHaveLength(1);
  });

  test("when Slack ends it after five minutes, the same message goes on by edits", async () => {
    const message = await mentioned();
    const reply = replyTo(world.platform, message);
    await reply.write("A long");
    world.slack.clock.advance(5 * 60_000 + 1);
    expect(agents()).toMatchObject([{ streaming: "errored" }]);
    await reply.write("A long story");
    await world.slack.until(() => agents()[0]?.readable === "A long story");
    await reply.finish("A long story, told.", []);
    expect(agents()).toMatchObject([{ readable: "A long story, told." }]);
    expect(keys()).toEqual(["text:0"]);
  });

  test("before five minutes it is ended, and the message goes on by edits", async () => {
    let ahead = 0;
    const message = await mentioned({ changes: { now: () => Date.now() + ahead } });
    const reply = replyTo(world.platform, message);
    await reply.write("A long");
    ahead = 4.1 * 60_000;
    await reply.write("A long story");
    await world.slack.until(() => agents()[0]?.readable === "A long story");
    expect(agents()).toMatchObject([{ streaming: "completed", readable: "A long story" }]);
    await reply.finish("A long story, told.", []);
    expect(agents().map((each) => each.readable)).toEqual(["A long story, told."]);
  });

  test("when the person presses Slack's stop button, the final text still comes, and the session is over", async () => {
    const message = await mentioned();
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    await reply.write("I go on and");
    const [shown] = agents();
    if (shown === undefined) throw new Error("no stream");
    slack.people.stopStream(slack.ann, { ts: shown.ts, channel: slack.general });
    await reply.finish("Stopped.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Stopped."]);
    const thread = message.conversationId.split(":")[3] ?? "";
    await expect.poll(() => slack.assistant.thread(slack.general, thread)?.session).toBe("active");
  });

  test("a text that was said otherwise in the end replaces what was streamed", async () => {
    const message = await mentioned();
    const reply = replyTo(world.platform, message);
    await reply.write("The key is abc");
    await reply.finish("The key is [redacted].", []);
    expect(agents().map((each) => each.readable)).toEqual(["The key is [redacted]."]);
  });

  test("where Slack has no streams, the reply goes by edits, and they are not tried again for a while", async () => {
    const message = await mentioned();
    const { slack } = world;
    slack.failNext("chat.startStream", { type: "error", error: "feature_not_enabled" });
    for (const round of ["one", "two"]) {
      const reply = world.platform.reply({ ...targetOf(message), turnId: round }, createPosts());
      await reply.write(`Words ${round}`);
      await reply.finish(`Words ${round} and more.`, []);
    }
    expect(slack.callsOf("chat.startStream")).toHaveLength(1);
    expect(agents().map((each) => each.readable)).toEqual(["Words one and more.", "Words two and more."]);
  });

  test("in a DM without a thread there are no streams: the message is edited in place", async () => {
    const message = await mentioned({}, inDm);
    const reply = replyTo(world.platform, message);
    await reply.write("First");
    await reply.finish("First and last.", []);
    expect(world.slack.callsOf("chat.startStream")).toEqual([]);
    expect(agents()).toMatchObject([{ readable: "First and last.", threadTs: undefined }]);
  });

  test("the status stands below the thread, not in the message, and is taken away at the end", async () => {
    const message = await mentioned();
    const { slack } = world;
    const thread = message.conversationId.split(":")[3] ?? "";
    const reply = replyTo(world.platform, message);
    await reply.progress(running("Running a tool"));
    await slack.until(() => slack.assistant.thread(slack.general, thread)?.status === "is running a tool · 1 min");
    await reply.write("Found");
    await reply.finish("Found it.", []);
    expect(slack.assistant.thread(slack.general, thread)?.status).toBe("");
    expect(agents().map((each) => each.readable)).toEqual(["Found it."]);
  });

  test("tools stand in a plan while they run, what they do can't call anybody, and the answer replaces them", async () => {
    const message = await mentioned();
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    const task = { id: "c1", title: `Reading <!channel> <@${slack.ben.id}>`, state: "running" as const };
    const progress = { ...running("Reading a file"), tasks: [task] };
    await reply.progress(progress);
    await slack.until(() => agents()[0]?.blocks.some(({ type }) => type === "task_card"));
    expect(agents()[0]?.blocks).toMatchObject([
      { type: "plan", title: "Reading a file · 1 min" },
      { type: "task_card", status: "in_progress" },
    ]);
    await reply.progress({ ...progress, tasks: [{ ...task, state: "done" }] });
    await slack.until(() => agents()[0]?.blocks.some(({ status }) => status === "complete"));
    expect(agents().flatMap(({ pings }) => pings)).toEqual([]);
    await reply.write("Found");
    await reply.finish("Found it.", []);
    expect(agents()).toMatchObject([{ readable: "Found it.", streaming: "completed", blocks: [{ type: "markdown" }] }]);
    expect(slack.callsOf("chat.startStream")[0]?.args).toMatchObject({ task_display_mode: "plan" });
  });

  test("where Slack takes no tasks, a line shows the work, and the text still streams later", async () => {
    const message = await mentioned();
    const { slack } = world;
    slack.failNext("chat.startStream", { type: "error", error: "invalid_chunks" });
    const reply = replyTo(world.platform, message);
    const tasks = [{ id: "c1", title: "Reading a file", state: "running" as const }];
    await reply.progress({ ...running("Reading a file"), tasks });
    await slack.until(() => agents()[0]?.readable.startsWith("Reading a file · 1 min"));
    await reply.finish("Found it.", []);
    expect(agents()).toMatchObject([{ readable: "Found it." }]);
    await world.platform.reply({ ...targetOf(message), turnId: "another" }, createPosts()).write("More");
    expect(slack.callsOf("chat.startStream")).toHaveLength(2);
  });

  test("where Slack refuses the status, a line in the reply says what it does, and a parked turn leaves none", async () => {
    const message = await mentioned();
    const { slack } = world;
    slack.failNext("assistant.threads.setStatus", { type: "error", error: "missing_scope" });
    const reply = replyTo(world.platform, message);
    await reply.progress(running("Thinking"));
    await slack.until(async () => {
      await reply.progress(running("Thinking"));
      return agents()[0]?.readable.startsWith("Thinking · 1 min");
    });
    await reply.park();
    expect(agents()).toEqual([]);
  });

  test("a stream that could not be stopped in between is stopped at the end, although its text stays the same", async () => {
    const message = await mentioned();
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    await reply.write("Working on it.");
    slack.failNext("chat.appendStream", { type: "error", error: "msg_too_long" });
    slack.failNext("chat.stopStream", { type: "http", status: 503 });
    await reply.write("Working on it. More");
    await slack.until(() => slack.callsOf("chat.stopStream").length > 0, 20_000);
    await reply.finish("Working on it.", []);
    expect(agents().map(({ readable, streaming }) => [readable, streaming === "in_progress"])).toEqual([
      ["Working on it.", false],
    ]);
  });

  test("in a DM without a thread, a reaction is there at once, and goes away with the answer", async () => {
    const message = await mentioned({}, inDm);
    const { slack } = world;
    const reactions = () => slack.see({ in: inDm(world) }).flatMap((each) => each.reactions.map(({ name }) => name));
    await slack.until(() => reactions().includes("hourglass_flowing_sand"));
    slack.people.say({ as: slack.ann, in: inDm(world), text: "and this" });
    await slack.until(() => reactions().length === 2);
    // The second message may have joined the turn of the first one.
    await replyTo(world.platform, message).finish("Done.", []);
    await slack.until(() => reactions().length === 0);
  });

  test("a reaction that could not go away with the answer goes away as soon as Slack lets it, in another process too", async () => {
    const message = await mentioned({}, inDm);
    const { slack } = world;
    const reactions = () => slack.see({ in: inDm(world) }).flatMap((each) => each.reactions.map(({ name }) => name));
    await slack.until(() => reactions().includes("hourglass_flowing_sand"));
    const back = slack.fail("reactions.remove", { type: "http", status: 503 });
    await replyTo(world.platform, message).finish("Done.", []);
    await vi.waitFor(async () => expect(await world.store.get("slack-reactions-to-remove")).toEqual([message.id]), {
      timeout: 60_000,
    });
    expect(reactions()).toEqual(["hourglass_flowing_sand"]);
    back();
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    await slack.until(() => reactions().length === 0);
    await vi.waitFor(async () => expect(await world.store.get("slack-reactions-to-remove")).toBeUndefined());
  });

  test("many at once share Slack's allowance: what is too much goes by edits, and every answer comes", async () => {
    const message = await mentioned();
    const { slack } = world;
    slack.limits.rates["chat.postMessage"] = { perMinute: 6_000, burst: 100 };
    const replies = Array.from({ length: 25 }, (_, index) =>
      world.platform.reply({ ...targetOf(message), turnId: `turn-${index}` }, createPosts()),
    );
    await Promise.all(replies.map((reply, index) => reply.write(`Answer ${index}`)));
    expect(slack.callsOf("chat.startStream").length).toBeLessThanOrEqual(20);
    expect(slack.calls.filter((call) => call.status === 429)).toEqual([]);
    expect(new Set(agents().map((each) => each.readable)).size).toBe(25);
  });
});

describe("edits", () => {
  test("partial texts keep their distance, and the final text comes at once", async () => {
    const message = await mentioned(edits);
    const reply = replyTo(world.platform, message);
    for (let count = 1; count <= 50; count++) await reply.write("word ".repeat(count));
    await reply.finish("word ".repeat(50).trim(), []);
    expect(world.slack.callsOf("chat.update").length).toBeLessThanOrEqual(2);
    expect(agents().map((each) => each.readable)).toEqual(["word ".repeat(50).trim()]);
  });

  test("the status is a line under the text", async () => {
    const message = await mentioned(edits);
    const reply = replyTo(world.platform, message);
    await reply.write("Let me look.");
    await reply.progress(running("Running a tool"));
    await world.slack.until(() => /^Let me look\.\nRunning a tool · 1 min/.test(agents()[0]?.readable ?? ""));
    await reply.finish("Let me look.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Let me look."]);
  });

  test("a partial text that Slack refuses again and again costs nothing but itself", async () => {
    const message = await mentioned(edits);
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    await reply.write("One");
    slack.failNext(
      "chat.update",
      ...Array.from({ length: 3 }, () => ({ type: "error", error: "edit_window_closed" }) as const),
    );
    for (const text of ["One two", "One two three"]) await reply.write(text);
    await slack.until(() => slack.callsOf("chat.update").length === 3, 15_000);
    await reply.write("One two three four");
    await reply.finish("One two three four five.", []);
    expect(agents().at(-1)?.readable).toBe("One two three four five.");
  });
});

describe("what is posted", () => {
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

  test("over 12,000 characters the beginning stands in the message, and the whole in a file below it", async () => {
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

  test("an answer that can't be a file stands in messages below its beginning", async () => {
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

  test("a file that Slack does not show after all is named below the answer", async () => {
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

  test("when Slack refuses the blocks, the whole text comes without them", async () => {
    const message = await mentioned(edits);
    const text = Array.from({ length: 300 }, (_, index) => `- item ${index} of **many**`).join("\n");
    world.slack.failNext("chat.postMessage", { type: "error", error: "invalid_blocks" });
    await replyTo(world.platform, message).finish(text, []);
    const all = agents()
      .map((each) => each.readable)
      .join("\n");
    expect(all.match(/item \d+ of \*many\*/g)).toHaveLength(300);
  });

  test("a message that somebody deleted is said anew", async () => {
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

  test("where the thread was deleted it is the channel", async () => {
    const message = await mentioned(edits);
    const { slack } = world;
    slack.state.messages.splice(
      slack.state.messages.findIndex(({ ts }) => message.id.endsWith(ts)),
      1,
    );
    await replyTo(world.platform, message).finish("All the same.", []);
    expect(agents()).toMatchObject([{ readable: "All the same.", threadTs: undefined }]);
  });

  test("not_in_channel: the reply says to invite it", async () => {
    const message = await mentioned(edits);
    world.slack.general.members.delete(world.slack.workspace.app.id);
    await expect(replyTo(world.platform, message).finish("hello", [])).rejects.toThrow(/not_in_channel.*\/invite/);
  });

  test("what stands in a channel by itself begins a thread of the agent's", async () => {
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

  test("a text that Slack finds too long all the same comes in parts", async () => {
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

  test("an empty end takes a status away again, and says nothing else", async () => {
    const message = await mentioned(edits);
    const reply = replyTo(world.platform, message);
    await reply.progress(running("Thinking"));
    await reply.finish("", []);
    expect(agents()).toEqual([]);
  });

  test("files that Slack does not take are named in the text", async () => {
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

describe("nothing twice", () => {
  /** Keeps what it is told, until the process dies: then what was not kept yet is lost. */
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
    expect(agents().map((each) => each.readable)).toEqual(["The answer."]);
  });

  test("a stream whose ts was lost in a crash ends, even if another process asks before the text goes on", async () => {
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

  test("a line about the queue that was never posted takes no other turn's stream away", async () => {
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

  test("a connection that broke after the post was made: it is found, not made again", async () => {
    const message = await mentioned(edits);
    world.slack.failNext("chat.postMessage", { type: "cut", after: true });
    await replyTo(world.platform, message).finish("Once.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Once."]);
  });

  test("a connection that broke before: it is made", async () => {
    const message = await mentioned(edits);
    world.slack.failNext("chat.postMessage", { type: "cut" }, { type: "http", status: 502 });
    await replyTo(world.platform, message).finish("Once.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Once."]);
  });

  test("while Slack fails, the end is refused, and the same call later makes it once", async () => {
    const message = await mentioned(edits);
    const posts = createPosts();
    const failure = { type: "http", status: 503 } as const;
    world.slack.failNext("chat.postMessage", failure, failure, failure, failure);
    const finish = () => replyTo(world.platform, message, posts).finish("Once.", []);
    await expect(finish()).rejects.toMatchObject({ code: "platform.away", isRetryable: true });
    await finish();
    expect(agents().map((each) => each.readable)).toEqual(["Once."]);
  });

  test("a refused token may be taken again, so a card waits for it", async () => {
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

  test("a worker without a connection writes, streams to the right person, and the thread is the agent's", async () => {
    const message = await mentioned();
    await world.restart();
    const reply = replyTo(world.platform, message);
    await reply.write("From a worker");
    expect(world.slack.callsOf("chat.startStream")[0]?.args).toMatchObject({ recipient_user_id: world.slack.ann.id });
    await reply.finish("From a worker.", []);
    expect(agents().map((each) => each.readable)).toEqual(["From a worker."]);
    expect(world.platform.health().isConnected).toBe(false);
  });
});
