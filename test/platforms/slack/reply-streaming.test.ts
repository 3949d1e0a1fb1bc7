/** How a reply grows: by a native stream or by edits, and within their limits. */
import { describe, expect, test, vi } from "vitest";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";
import { replyTo } from "./agent.ts";
import { agent, agents, edits, inDm, keys, mentioned, running, single, useReplies, world } from "./reply-world.ts";

useReplies();

describe("a native stream", () => {
  test("the first words are streamed at once, to the person who asked, in the thread of the mention", async () => {
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

  test("only new text is appended, and text between two updates is collected", async () => {
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

  test("a table grows by whole rows, and neither it nor the buttons below it need an edit", async () => {
    const message = await mentioned();
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    const table = "Two rows:\n\n| Name | Cost |\n| --- | ---: |\n| a | 1 |\n| b | 2 |";
    await reply.write(table.slice(0, table.indexOf("Cost")));
    expect(agents()).toMatchObject([{ readable: "Two rows:\n\n" }]);
    await reply.write(table.slice(0, table.indexOf("b | 2")));
    await slack.until(() => agents()[0]?.readable.includes("| a | 1 |\n"));
    expect(agents()[0]?.readable.endsWith("| a | 1 |\n")).toBe(true);
    await reply.finish(table, [], { turnId: "t1", line: "9 s", choices: ["details", "feedback"] });
    expect(agents()).toMatchObject([{ streaming: "completed", readable: expect.stringContaining("| b | 2 |") }]);
    expect(slack.callsOf("chat.update")).toEqual([]);
    expect(slack.callsOf("chat.postMessage")).toEqual([]);
    expect(slack.callsOf("chat.stopStream")[0]?.args.blocks).toBeDefined();
  });

  test("when Slack ends the stream after five minutes, the message continues by edits", async () => {
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

  test("the stream is ended before five minutes, and the message continues by edits", async () => {
    const message = await mentioned();
    const reply = replyTo(world.platform, message);
    await reply.write("A long");
    const { now } = Date;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 4.1 * 60_000);
    await reply.write("A long story");
    await world.slack.until(() => agents()[0]?.readable === "A long story");
    clock.mockRestore();
    expect(agents()).toMatchObject([{ streaming: "completed", readable: "A long story" }]);
    await reply.finish("A long story, told.", []);
    expect(agents().map((each) => each.readable)).toEqual(["A long story, told."]);
  });

  test("after a click on Slack's stop button, the final text is still shown, and the session ends", async () => {
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
    await expect.poll(() => slack.sessions.of(slack.general, thread)?.status).toBe("active");
  });

  test("once previews are to be avoided, a post without them takes the stream's place, also in another process", async () => {
    const message = await mentioned();
    const { slack } = world;
    const posts = createPosts();
    await replyTo(world.platform, message, posts).write("Let me look");
    expect(agents()).toMatchObject([{ readable: "Let me look", streaming: "in_progress" }]);
    const reply = replyTo(world.platform, message, posts);
    reply.avoidPreviews?.();
    await reply.write("Let me look\n\nIt is at https://evil.example/x");
    expect(agents()).toMatchObject([{ readable: "Let me look\n\nIt is at https://evil.example/x" }]);
    await reply.finish("Let me look\n\nIt is at https://evil.example/x.", []);
    expect(agents()).toMatchObject([{ streaming: undefined }]);
    expect(slack.callsOf("chat.startStream")).toHaveLength(1);
    expect([...slack.state.fetched]).toEqual([]);
  });

  test("a stream that may not be deleted stays as it is, above the post that takes its place", async () => {
    const message = await mentioned();
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    await reply.write("Let me look");
    slack.failNext("chat.delete", { type: "error", error: "compliance_exports_prevent_deletion" });
    reply.avoidPreviews?.();
    await reply.write("Let me look\n\nIt is at https://evil.example/x");
    await reply.finish("Let me look\n\nIt is at https://evil.example/y", []);
    expect(agents().map(({ readable }) => readable)).toEqual([
      "Let me look",
      "Let me look\n\nIt is at https://evil.example/y",
    ]);
    expect([...slack.state.fetched]).toEqual([]);
  });

  test("a different final text replaces the streamed one", async () => {
    const message = await mentioned();
    const reply = replyTo(world.platform, message);
    await reply.write("The key is abc");
    await reply.finish("The key is [redacted].", []);
    expect(agents().map((each) => each.readable)).toEqual(["The key is [redacted]."]);
  });

  test("if Slack refuses streams, replies use edits, and streams are not tried again for a while", async () => {
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

  test("in a DM that is one conversation there are no streams: the message is edited in place", async () => {
    const message = await mentioned(single, inDm);
    const reply = replyTo(world.platform, message);
    await reply.write("First");
    await reply.finish("First and last.", []);
    expect(world.slack.callsOf("chat.startStream")).toEqual([]);
    expect(agents()).toMatchObject([{ readable: "First and last.", threadTs: undefined }]);
  });

  test("while Slack shows that the agent works, no message says so before there is one", async () => {
    const message = await mentioned();
    const { slack } = world;
    const reply = replyTo(world.platform, message);
    await reply.progress(running("Thinking"));
    await slack.until(() => slack.sessions.list()[0]?.status === "processing");
    expect(agents()).toEqual([]);
    await reply.write("Found");
    await reply.finish("Found it.", []);
    expect(agents().map((each) => each.readable)).toEqual(["Found it."]);
  });

  test("running tools are shown in a plan that pings nobody, and the answer replaces it", async () => {
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

  test("if Slack refuses tasks, a line shows the work, and the text is still streamed", async () => {
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

  test("if Slack refuses the status, a line in the reply shows it, and a parked turn has no line", async () => {
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

  test("a stream that could not be stopped is stopped at the end, even if its text stays the same", async () => {
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

  test("in a DM that is one conversation, a reaction is added at once and removed with the answer", async () => {
    const message = await mentioned(single, inDm);
    const { slack } = world;
    const reactions = () => slack.see({ in: inDm(world) }).flatMap((each) => each.reactions.map(({ name }) => name));
    await slack.until(() => reactions().includes("hourglass_flowing_sand"));
    slack.people.say({ as: slack.ann, in: inDm(world), text: "and this" });
    await slack.until(() => reactions().length === 2);
    // The second message may have joined the turn of the first one.
    await replyTo(world.platform, message).finish("Done.", []);
    await slack.until(() => reactions().length === 0);
  });

  test("a reaction that could not be removed with the answer is removed later, also by another process", async () => {
    const message = await mentioned(single, inDm);
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

  test("many streams share Slack's limit: others use edits, and every answer is shown", async () => {
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

  test("a worker without a connection can write, and streams to the right person", async () => {
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

describe("edits", () => {
  test("partial texts are spaced out, and the final text is shown at once", async () => {
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

  test("a partial text that Slack keeps refusing does no harm to the rest", async () => {
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
