/** What tools may do in Slack, and what they may not. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ChatActions, ChatPlace } from "../../../src/ports/chat.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Channel } from "../../doubles/slack/state.ts";
import { createTestAgent, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;
let message: InboundMessage;

beforeEach(async () => {
  world = await createSlackWorld();
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  const { slack } = world;
  await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" }).acknowledged();
  message = agent.kept.find((each) => each.isAddressed) as InboundMessage;
});
afterEach(() => world.close());

function chat(): ChatActions {
  const { chat: actions } = world.platform;
  if (actions === undefined) throw new Error("no chat");
  return actions;
}

function here(changes: Partial<ChatPlace> = {}): ChatPlace {
  return { conversationId: message.conversationId, requester: message.author, ...changes };
}

function agentsIn(channel: Channel) {
  return world.slack.see({ in: channel }).filter((each) => each.isAgents);
}

describe("reading", () => {
  test("a thread's newest, oldest first, with authors, files and ids; older ones by `before`", async () => {
    const { slack } = world;
    const thread = message.id.split(":")[1] ?? "";
    for (let count = 1; count <= 5; count++) {
      await slack.people
        .say({ as: slack.ben, in: slack.general, thread, text: `line ${count} for @Ann` })
        .acknowledged();
    }
    await slack.people
      .say({ as: slack.ann, in: slack.general, thread, text: "with a file", files: [{ name: "a.txt", content: "x" }] })
      .acknowledged();
    const lines = await chat().history(here(), { limit: 3 });
    expect(lines.map((line) => line.text)).toEqual([
      `line 4 for @Ann (${slack.ann.id})`,
      `line 5 for @Ann (${slack.ann.id})`,
      "with a file",
    ]);
    expect(lines.at(-1)).toMatchObject({ author: { name: "Ann" }, files: ["a.txt"] });
    const before = await chat().history(here(), { limit: 2, before: lines[0]?.id ?? "" });
    expect(before.map((line) => line.text.slice(0, 6))).toEqual(["line 2", "line 3"]);
  });

  test("a channel's newest, with how many answers each has; what bots said in blocks is read", async () => {
    const { slack } = world;
    await chat().post(here({ channel: "#general" }), { text: "**Here** I am", files: [], key: "k" });
    const lines = await chat().history(here({ channel: slack.general.id }), { limit: 200 });
    expect(lines.map((line) => line.author.name)).toEqual(["Ann", "Remora"]);
    expect(lines.at(-1)).toMatchObject({ text: "**Here** I am", author: { isBot: true } });
  });
});

describe("the files of a message", () => {
  test("can be opened, in a thread or not; other messages of the thread are not mixed up with it", async () => {
    const { slack } = world;
    const files = [{ name: "a.csv", content: "a,b", mimetype: "text/csv" }];
    const root = slack.people.say({ as: slack.ben, in: slack.general, text: "root", files });
    const reply = slack.people.say({
      ...{ as: slack.ben, in: slack.general, thread: root, text: "reply" },
      files: [{ name: "b.csv", content: "1" }],
    });
    const filesOf = async (ts: string) => await chat().files?.(here(), `${slack.general.id}:${ts}`);
    expect(await filesOf(root.ts)).toMatchObject([
      { name: "a.csv", mimeType: "text/csv", bytes: 3, source: { id: expect.any(String), url: expect.any(String) } },
    ]);
    expect(await filesOf(reply.ts)).toMatchObject([{ name: "b.csv" }]);
    expect(await filesOf(message.id.split(":")[1] ?? "")).toEqual([]);
  });

  test("of a message that is not there are none", async () => {
    expect(await chat().files?.(here(), `${world.slack.general.id}:1700000000.000100`)).toEqual([]);
  });

  test("of a channel that the person is not in are refused", async () => {
    const { slack } = world;
    const secret = slack.workspace.addChannel({ name: "secret", members: [slack.ben], isPrivate: true });
    const files = [{ name: "a.csv", content: "a" }];
    const said = slack.people.say({ as: slack.ben, in: secret, text: "x", files });
    const id = `${secret.id}:${said.ts}`;
    for (const place of [here(), here({ channel: secret.id })])
      await expect(chat().files?.(place, id)).rejects.toMatchObject({ code: "platform.no-access" });
  });
});

describe("never more than the person sees", () => {
  test("a public channel is open to every full member, by id, name or mention", async () => {
    const { slack } = world;
    const open = slack.workspace.addChannel({ name: "open", members: [slack.ben] });
    for (const channel of [open.id, "#open", "open", `<#${open.id}|open>`, `#open (${open.id})`]) {
      await expect(chat().history(here({ channel }), { limit: 1 })).resolves.toEqual([]);
    }
  });

  test("a private channel only to those who are in it, and a guest nothing they are not in", async () => {
    const { slack } = world;
    const secret = slack.workspace.addChannel({ name: "secret", members: [slack.ben], isPrivate: true });
    const open = slack.workspace.addChannel({ name: "open", members: [slack.ben] });
    const refused = { code: "platform.no-access" };
    for (const work of [
      () => chat().history(here({ channel: secret.id }), { limit: 1 }),
      () => chat().post(here({ channel: "#secret" }), { text: "x", files: [], key: "k" }),
      () => chat().openThread(here({ channel: secret.id }), { name: "n", text: "x", key: "k" }),
    ]) {
      await expect(work()).rejects.toMatchObject(refused);
    }
    const ben = { id: slack.ben.id, name: "Ben", isBot: false, roles: [] };
    await expect(chat().history(here({ channel: secret.id, requester: ben }), { limit: 1 })).resolves.toEqual([]);
    const guest = slack.workspace.addPerson({ name: "Gus", isGuest: true });
    const asGuest = { id: guest.id, name: "Gus", isBot: false, roles: [] };
    await expect(chat().history(here({ channel: open.id, requester: asGuest }), { limit: 1 })).rejects.toMatchObject(
      refused,
    );
    expect(agentsIn(secret)).toEqual([]);
  });

  test("DMs and group DMs are never another channel, the person's own neither", async () => {
    const { slack } = world;
    for (const dm of [
      slack.workspace.direct(slack.ann),
      slack.workspace.direct(slack.ben),
      slack.workspace.direct(slack.ann, slack.ben),
    ]) {
      await expect(chat().history(here({ channel: dm.id }), { limit: 1 })).rejects.toMatchObject({
        code: "platform.no-access",
      });
    }
  });

  test("a channel that is not there, or where the agent is not, is said so", async () => {
    const { slack } = world;
    slack.workspace.addChannel({ name: "elsewhere", members: [slack.ann], hasApp: false });
    await expect(chat().history(here({ channel: "#nowhere" }), { limit: 1 })).rejects.toMatchObject({
      code: "platform.no-access",
    });
    await expect(chat().post(here({ channel: "#elsewhere" }), { text: "x", files: [], key: "k" })).rejects.toThrow(
      /I am not in that channel\. Invite me there with \/invite\.$/,
    );
  });

  test("a message of another channel is not reacted to from here", async () => {
    const { slack } = world;
    const open = slack.workspace.addChannel({ name: "open", members: [slack.ben] });
    const said = slack.people.say({ as: slack.ben, in: open, text: "hi" });
    await expect(chat().react(here(), `${open.id}:${said.ts}`, "👍")).rejects.toMatchObject({
      code: "platform.no-access",
    });
  });
});

describe("doing", () => {
  test.each([
    ["short", "Look at this"],
    ["long", "word ".repeat(9_000)],
  ])("a %s text with a file stands in a channel without threads, and its files below it", async (what, text) => {
    const { slack } = world;
    const open = slack.workspace.addChannel({ name: "open", members: [slack.ann] });
    open.threads = "off";
    const folder = await mkdtemp(join(tmpdir(), "remora-post-"));
    const path = join(folder, "a.txt");
    await writeFile(path, "hello");
    const files = [{ name: "a.txt", path, mimeType: "text/plain" }];
    await chat().post(here({ channel: "#open" }), { text, files, key: "k" });
    const names = agentsIn(open).flatMap((each) => each.files.map(({ name }) => name));
    expect(names).toEqual(what === "long" ? ["text.md", "a.txt"] : ["a.txt"]);
    slack.failNext("files.completeUploadExternal", ...Array(2).fill({ type: "error", error: "something_new" }));
    await expect(chat().post(here({ channel: "#open" }), { text, files, key: "other" })).rejects.toThrow(
      /the text is posted, so don't post it again, but its file could not be shown: /,
    );
    await rm(folder, { recursive: true });
  });

  test("a post pings nobody, is made once for one key, and what is said in its thread is for the agent", async () => {
    const { slack } = world;
    const open = slack.workspace.addChannel({ name: "open", members: [slack.ben] });
    const place = here({ channel: open.id });
    const first = await chat().post(place, { text: "<!channel> done", files: [], key: "job-1" });
    expect(await chat().post(place, { text: "<!channel> done", files: [], key: "job-1" })).toEqual(first);
    await chat().post(place, { text: "another", files: [], key: "job-2" });
    expect(agentsIn(open).map((each) => each.readable)).toEqual(["<!channel> done", "another"]);
    expect(agentsIn(open).flatMap((each) => each.effects)).toEqual([]);
    const thread = first.messageId.split(":")[1] ?? "";
    await slack.people.say({ as: slack.ben, in: open, thread, text: "thanks" }).acknowledged();
    expect(agent.kept.at(-1)).toMatchObject({ isAddressed: true, text: "thanks" });
  });

  test("a post of a call in a thread goes into the thread, with its files", async () => {
    const folder = await mkdtemp(join(tmpdir(), "remora-slack-"));
    await writeFile(join(folder, "a.csv"), "a,b\n");
    const files = [
      { name: "a.csv", path: join(folder, "a.csv"), mimeType: "text/csv" },
      { name: "gone.csv", path: join(folder, "gone.csv"), mimeType: "text/csv" },
    ];
    await chat().post(here(), { text: "See below.", files, key: "k" });
    await rm(folder, { recursive: true });
    const thread = message.id.split(":")[1];
    const posted = agentsIn(world.slack.general);
    expect(posted.every((each) => each.threadTs === thread)).toBe(true);
    expect(posted.flatMap((each) => each.files.map((file) => file.content))).toEqual(["a,b\n"]);
    expect(posted[0]?.readable).toContain("gone.csv");
  });

  test("a long post comes in parts, a very long one as a file", async () => {
    const text = (count: number) =>
      Array.from({ length: count }, (_, index) => `line ${index} of a long post`).join("\n");
    await chat().post(here(), { text: text(800), files: [], key: "long" });
    const parts = agentsIn(world.slack.general);
    expect(parts.length).toBeGreaterThan(1);
    expect(
      parts
        .map((each) => each.readable)
        .join("\n")
        .match(/line \d+/g),
    ).toHaveLength(800);
    await chat().post(here(), { text: text(5_000), files: [], key: "longer" });
    expect(agentsIn(world.slack.general).at(-1)?.files[0]?.content).toBe(text(5_000));
  });

  test("a reaction by its character or its name; one that is there already is fine; what has no name is said", async () => {
    for (const emoji of ["👍", "👍🏽", ":eyes:", "eyes", "❤️"]) await chat().react(here(), message.id, emoji);
    const ts = message.id.split(":")[1];
    const shown = world.slack.see({ in: world.slack.general }).find((each) => each.ts === ts);
    expect(shown?.reactions.map((reaction) => reaction.name)).toEqual(["+1", "eyes", "heart"]);
    await expect(chat().react(here(), message.id, "🦄")).rejects.toMatchObject({ code: "platform.unsupported" });
    await expect(chat().react(here(), "nonsense", "👍")).rejects.toMatchObject({ code: "platform.no-access" });
  });

  test("a thread on a message, and one on a first message of its own", async () => {
    const { slack } = world;
    const said = slack.people.say({ as: slack.ben, in: slack.general, text: "an idea" });
    const on = await chat().openThread(here(), {
      messageId: `${slack.general.id}:${said.ts}`,
      name: "Idea",
      text: "Go on?",
      key: "a",
    });
    expect(on.threadId).toBe(`${slack.general.id}:${said.ts}`);
    const own = await chat().openThread(here(), { name: "Plan *B*", text: "What else?", key: "b" });
    const shown = agentsIn(slack.general);
    expect(shown.map((each) => [each.readable, each.threadTs])).toEqual([
      ["Go on?", said.ts],
      ["**Plan  B**\nWhat else?", undefined],
    ]);
    expect(own.threadId).toBe(`${slack.general.id}:${shown[1]?.ts}`);
  });

  test("it works without a connection", async () => {
    await world.restart();
    await chat().post(here(), { text: "From a worker", files: [], key: "k" });
    expect(agentsIn(world.slack.general).map((each) => each.readable)).toEqual(["From a worker"]);
  });
});
