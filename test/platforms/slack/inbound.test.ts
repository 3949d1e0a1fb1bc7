/** What comes in: who says it, where, with which files; and what never comes in. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAccess } from "../../../src/access/access.ts";
import type { SlackPlatformOptions } from "../../../src/platforms/slack/platform.ts";
import type { Attachment, InboundMessage, JsonObject } from "../../../src/ports/message.ts";
import { openedText } from "../../doubles/opened-file.ts";
import { createTestAgent, replyTo, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;

async function open(changes: Partial<SlackPlatformOptions> = {}): Promise<void> {
  world = await createSlackWorld({ changes });
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
}

beforeEach(() => open());
afterEach(() => world.close());

async function reopen(changes: Partial<SlackPlatformOptions>): Promise<void> {
  await world.close();
  await open(changes);
}

function heard(): InboundMessage {
  const message = agent.kept.findLast((each) => each.isAddressed);
  if (message === undefined) throw new Error("nothing was said to the agent");
  return message;
}

async function say(saying: Partial<Parameters<SlackWorld["slack"]["people"]["say"]>[0]>): Promise<InboundMessage> {
  const { slack } = world;
  await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello", ...saying }).acknowledged();
  return heard();
}

describe("where it is said", () => {
  test("a mention in a channel begins a thread; ids say where everything is", async () => {
    const { slack } = world;
    const message = await say({});
    const ts = message.id.split(":")[1] ?? "";
    expect(message).toMatchObject({
      id: `${slack.general.id}:${ts}`,
      conversationId: `slack:${slack.state.team.id}:${slack.general.id}:${ts}`,
      scope: `channel:${slack.general.id}`,
      channelId: slack.general.id,
      spaceId: slack.state.team.id,
      isDirect: false,
      author: { id: slack.ann.id, name: "Ann", isBot: false, roles: [] },
      at: Math.round(Number(ts) * 1000),
    });
    expect(message.author.kind).toBeUndefined();
    expect(message.isInThread).toBeUndefined();
  });

  test("each message in a DM begins a conversation, which goes on in its thread, broadcast or not, also without words", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ann);
    const [first, second] = [await say({ in: dm, text: "hello" }), await say({ in: dm, text: "something else" })];
    const conversationOf = ({ id }: InboundMessage) => `slack:${slack.state.team.id}:${id}`;
    for (const message of [first, second])
      expect(message).toMatchObject({
        conversationId: conversationOf(message),
        scope: `dm:${slack.ann.id}`,
        isDirect: true,
        isAddressed: true,
      });
    expect(first.channelId).toBeUndefined();
    const inFirst = { in: dm, thread: first.id.split(":")[1] ?? "" };
    const files = [{ name: "notes.txt", content: "notes" }];
    for (const reply of [{ text: "again" }, { text: "to all", isBroadcast: true }, { text: "", files }])
      expect(await say({ ...inFirst, ...reply })).toMatchObject({
        conversationId: first.conversationId,
        scope: first.scope,
        isAddressed: true,
      });
    const file = await say({ in: dm, text: "", files });
    expect(file).toMatchObject({ conversationId: conversationOf(file), attachments: [{ name: "notes.txt" }] });
  });

  test("with `single`, a DM is one conversation, and a thread in it one of its own; back to threads, both go on", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ann);
    const begin = async (directMessages: "single" | "threads") => {
      await world.restart({ directMessages });
      await world.platform.connect(agent.handlers, new AbortController().signal);
    };
    const before = await say({ in: dm, text: "in threads" });
    await begin("single");
    const first = await say({ in: dm, text: "hello" });
    const whole = `slack:${slack.state.team.id}:${dm.id}`;
    expect(first).toMatchObject({ conversationId: whole, scope: `dm:${slack.ann.id}`, isDirect: true });
    expect(await say({ in: dm, text: "and more" })).toMatchObject({ conversationId: whole });
    const inThread = { in: dm, thread: first.id.split(":")[1] ?? "", text: "in a thread" };
    expect(await say(inThread)).toMatchObject({ conversationId: `${whole}:${inThread.thread}` });
    const inOlder = { in: dm, thread: before.id.split(":")[1] ?? "", text: "in the older thread" };
    expect(await say(inOlder)).toMatchObject({ conversationId: before.conversationId });
    await begin("threads");
    expect(await say({ ...inThread, text: "again" })).toMatchObject({ conversationId: `${whole}:${inThread.thread}` });
  });

  test("whoever gets no answer in a DM is told why in the thread of the message", async () => {
    const { slack } = world;
    agent.notice = { text: "That is a lot at once." };
    const { id } = await say({ in: slack.workspace.direct(slack.ann), text: "hello" });
    expect(slack.timeline(slack.ann)).toMatchObject([{ ts: id.split(":")[1], answers: ["That is a lot at once."] }]);
  });

  test("a message that is left out without a word has no session, and its thread does not belong to the agent", async () => {
    const { slack } = world;
    agent.notice = { text: "" };
    const { id } = await say({ text: "@Remora hello" });
    const thread = id.split(":")[1] ?? "";
    await say({ as: slack.ben, thread, text: "what now?" });
    expect(agent.kept.map(({ isAddressed }) => isAddressed)).toEqual([true, false]);
    expect(slack.see({ in: slack.general }).filter(({ isAgents }) => isAgents)).toEqual([]);
    expect(slack.sessions.list()).toEqual([]);
  });

  test("a guest can't open the DM of an agent, and is heard where they mention it", async () => {
    const { slack } = world;
    const guest = slack.workspace.addPerson({ name: "Gus", isGuest: true });
    const dm = slack.workspace.direct(guest);
    expect(() => slack.people.say({ as: guest, in: dm, text: "hello" })).toThrow("a guest, who can't open an agent");
    expect(await say({ as: guest })).toMatchObject({ author: { id: guest.id, kind: "guest" } });
  });

  test("a group DM is a channel: it hears everybody and answers mentions", async () => {
    const { slack } = world;
    const group = slack.workspace.direct(slack.ann, slack.ben);
    await slack.people.say({ as: slack.ann, in: group, text: "lunch?" }).acknowledged();
    expect(agent.kept.at(-1)).toMatchObject({ isAddressed: false, isDirect: false });
    expect(await say({ in: group })).toMatchObject({ scope: `channel:${group.id}`, isDirect: false });
  });

  test("a thread it was mentioned in, or has posted in, is for it, also after a restart; others are not", async () => {
    const { slack } = world;
    const root = slack.people.say({ as: slack.ann, in: slack.general, text: "who knows about this?" });
    await root.acknowledged();
    await slack.people.say({ as: slack.ben, in: slack.general, thread: root, text: "not me" }).acknowledged();
    expect(agent.kept.every((each) => !each.isAddressed)).toBe(true);
    await say({ thread: root, text: "@Remora do you?" });
    expect(await say({ thread: root, text: "and now?", as: slack.ben })).toMatchObject({
      text: "and now?",
      isInThread: true,
    });
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    expect(await say({ thread: root, text: "still there?" })).toMatchObject({ text: "still there?" });
  });

  test("a thread in which somebody was refused is not the agent's for that", async () => {
    const { slack } = world;
    agent.notice = { text: "I can't answer." };
    const root = slack.people.say({ as: slack.ben, in: slack.general, text: "@Remora let me in" });
    await root.acknowledged();
    agent.notice = undefined;
    await slack.people.say({ as: slack.ann, in: slack.general, thread: root, text: "what is that?" }).acknowledged();
    expect(agent.kept.at(-1)).toMatchObject({ text: "what is that?", isAddressed: false });
  });

  test("a reply broadcast to the channel is one message in its thread", async () => {
    const root = await say({});
    const thread = root.id.split(":")[1] ?? "";
    const message = await say({ thread, text: "for all to see", isBroadcast: true });
    expect(message).toMatchObject({ conversationId: root.conversationId, text: "for all to see" });
  });
});

describe("who says it", () => {
  test("guests and people of other workspaces are named so", async () => {
    const { slack } = world;
    const people = [
      [slack.workspace.addPerson({ name: "Gus", isGuest: true }), "guest"],
      [slack.workspace.addPerson({ name: "Sue", isSingleChannelGuest: true }), "guest"],
      [slack.workspace.addPerson({ name: "Sam", isStranger: true }), "external"],
    ] as const;
    for (const [person, kind] of people) expect((await say({ as: person })).author.kind).toBe(kind);
  });

  test("user groups are roles, and a change of them is heard", async () => {
    const { slack } = world;
    const group = slack.workspace.addGroup("ops", [slack.ann]);
    for (const delivery of slack.events.send({ type: "subteam_created", subteam: { id: group.id } }))
      await delivery.acknowledged();
    expect((await say({})).author.roles).toEqual([group.id]);
    group.users = [];
    for (const delivery of slack.events.send({ type: "subteam_updated", subteam: { id: group.id } }))
      await delivery.acknowledged();
    expect((await say({})).author.roles).toEqual([]);
    expect(await world.platform.lookUp?.({ id: slack.ann.id, name: "Ann", isBot: false, roles: [] }, "")).toMatchObject(
      { roles: [] },
    );
    group.users = [slack.ann.id];
    expect(await world.platform.lookUp?.({ id: slack.ann.id, name: "Ann", isBot: false, roles: [] }, "")).toMatchObject(
      { roles: [group.id] },
    );
  });

  test("somebody who left is no longer there", async () => {
    const { slack } = world;
    const cara = slack.workspace.addPerson({ name: "Cara", isDeleted: true });
    expect(await world.platform.lookUp?.({ id: cara.id, name: "Cara", isBot: false, roles: [] }, "")).toBeUndefined();
  });

  test("people are asked about once, not with every message", async () => {
    for (const _ of [1, 2, 3]) await say({});
    expect(world.slack.callsOf("users.info")).toHaveLength(1);
    expect(world.slack.callsOf("usergroups.list")).toHaveLength(1);
  });

  test("what nobody said to the agent costs no call", async () => {
    const { slack } = world;
    const before = slack.calls.length;
    await slack.people.say({ as: slack.ben, in: slack.general, text: "just talking to @Ann" }).acknowledged();
    expect(slack.calls.slice(before).filter((call) => call.method !== "usergroups.list")).toEqual([]);
  });

  test("when Slack does not say who it is, the message waits with Slack", async () => {
    const { slack } = world;
    const cara = slack.workspace.addPerson({ name: "Cara" });
    slack.failNext("users.info", { type: "error", error: "account_inactive" });
    const said = slack.people.say({ as: cara, in: slack.general, text: "@Remora hello" });
    await slack.until(() => slack.callsOf("users.info").length === 1);
    expect(agent.kept.filter((each) => each.isAddressed)).toEqual([]);
    slack.clock.advance(3_100);
    await said.acknowledged();
    expect(heard().author.name).toBe("Cara");
  });
});

describe("bots", () => {
  test("other bots are not heard, the agent itself never, Slackbot neither", async () => {
    const { slack } = world;
    const bot = slack.workspace.addBot("Buildy");
    await slack.people.say({ as: bot, in: slack.general, text: "@Remora build is red" }).acknowledged();
    const message = await say({});
    await replyTo(world.platform, message).finish("Hello @Remora", []);
    await say({ text: "@Remora again" });
    expect(agent.heard.map((each) => each.author.isBot)).not.toContain(true);
    expect(agent.texts()).toEqual(["hello", "again"]);
  });

  test.each(["the user's id", "the bot's id"])("one that is allowed, by %s, is heard as a bot", async (by) => {
    let allowed = "";
    await reopen({ isAllowedBot: (id) => id === allowed });
    const { slack } = world;
    const bot = slack.workspace.addBot("Buildy");
    allowed = by === "the bot's id" ? (bot.botId ?? "") : bot.id;
    expect(await say({ as: bot, text: "@Remora build is red" })).toMatchObject({
      author: { id: allowed, isBot: true },
      text: "build is red",
    });
  });

  test.each(["channel_join", "channel_topic", "pinned_item", "bot_add"])(
    "Slack's own lines (%s) are no messages",
    async (subtype) => {
      const { slack } = world;
      await slack.people.systemLine(slack.general, slack.ann, subtype, "set something").acknowledged();
      expect(agent.heard).toEqual([]);
    },
  );
});

describe("what is said", () => {
  test("the mention in front is gone, others are readable with their ids, entities and links are plain", async () => {
    const { slack } = world;
    const markup = `<@${slack.workspace.app.id}> tell <@${slack.ben.id}> in <#${slack.general.id}|general> that 1 &lt; 2, see <https://x.dev/a?b=1&amp;c=2|this>`;
    expect((await say({ markup })).text).toBe(
      `tell @Ben (${slack.ben.id}) in #general (${slack.general.id}) that 1 < 2, see this (https://x.dev/a?b=1&c=2)`,
    );
  });

  test("edits and deletions come through, and previews are no edits", async () => {
    const { slack } = world;
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora first words" });
    await said.acknowledged();
    for (const delivery of slack.people.edit(said, "@Remora second words").deliveries) await delivery.acknowledged();
    expect(agent.edited).toEqual([{ id: heard().id, text: "second words" }]);
    for (const delivery of slack.people.remove(said)) await delivery.acknowledged();
    expect(agent.deleted).toEqual([heard().id]);
  });

  test("what is said in one conversation stays in its order, an edit and a deletion behind their message", async () => {
    const { slack } = world;
    const order: string[] = [];
    const { onMessage, onEdited, onDeleted } = agent.handlers;
    agent.handlers.onMessage = async (message) => {
      order.push(message.text);
      return await onMessage(message);
    };
    agent.handlers.onEdited = async (...edit) => {
      order.push(`edited: ${edit[2]}`);
      await onEdited(...edit);
    };
    agent.handlers.onDeleted = async (...deletion) => {
      order.push("deleted");
      await onDeleted(...deletion);
    };
    const root = await say({});
    order.length = 0;
    const thread = root.id.split(":")[1] ?? "";
    const cara = slack.workspace.addPerson({ name: "Cara" });
    // Who Cara is takes a while to find out; who Ann is, is known.
    slack.failNext("users.info", { type: "delay", ms: 150 });
    const first = slack.people.say({ as: cara, in: slack.general, thread, text: "first" });
    const second = slack.people.say({ as: slack.ann, in: slack.general, thread, text: "second" });
    const edited = slack.people.edit(first, "first, edited");
    const removed = slack.people.remove(first);
    await Promise.all([first, second, edited].map((said) => said.acknowledged()));
    await Promise.all(removed.map((delivery) => delivery.acknowledged()));
    expect(order).toEqual(["first", "second", "edited: first, edited", "deleted"]);
  });

  test("a message that comes again after its edit, or after its deletion, is what became of it", async () => {
    const { slack } = world;
    agent.failure = new Error("the disk is full");
    const edited = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora delete everything" });
    const removed = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora never mind" });
    await slack.until(() => new Set(agent.heard.map((each) => each.id)).size === 2);
    agent.failure = undefined;
    await slack.people.edit(edited, "@Remora delete nothing").acknowledged();
    for (const delivery of slack.people.remove(removed)) await delivery.acknowledged();
    for (const delivery of [...edited.deliveries, ...removed.deliveries]) await slack.repeat(delivery).acknowledged();
    expect(agent.texts()).toEqual(["delete nothing"]);
  });

  test("of two edits that come in the wrong order the later one counts", async () => {
    const { slack } = world;
    await say({});
    const ts = heard().id.split(":")[1] ?? "";
    const edit = (text: string, editedTs: string) => ({
      ...{ type: "message", subtype: "message_changed", channel: slack.general.id, ts: slack.state.ts() },
      message: { type: "message", user: slack.ann.id, ts, text, edited: { user: slack.ann.id, ts: editedTs } },
      previous_message: { type: "message", user: slack.ann.id, ts, text: "hello" },
    });
    for (const event of [edit("second", "1900000002.000000"), edit("first", "1900000001.000000")]) {
      for (const delivery of slack.events.send(event)) await delivery.acknowledged();
    }
    expect(agent.edited.map((each) => each.text)).toEqual(["second"]);
  });

  test("an edit that adds the mention makes it a message to the agent", async () => {
    const { slack } = world;
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "what time is it?" });
    await said.acknowledged();
    const event = {
      type: "app_mention",
      user: slack.ann.id,
      text: `<@${slack.workspace.app.id}> what time is it?`,
      ts: said.ts,
      channel: slack.general.id,
    };
    for (const delivery of slack.events.send(event)) await delivery.acknowledged();
    expect(agent.kept.map((each) => each.isAddressed)).toEqual([false, true]);
  });

  test("a forwarded message comes with its words, which are not the author's own", async () => {
    const { slack } = world;
    const attachments = [{ is_share: true, author_name: "Ben", text: "the server is &lt;down&gt;" }];
    const event = {
      type: "message",
      user: slack.ann.id,
      text: `<@${slack.workspace.app.id}> look`,
      ts: slack.state.ts(),
      channel: slack.general.id,
      channel_type: "channel",
      attachments,
    };
    for (const delivery of slack.events.send(event)) await delivery.acknowledged();
    expect(heard().text).toBe("look");
    const text = "Ben wrote:\nthe server is <down>";
    const quote = { name: "quoted message", mimeType: "text/plain", bytes: text.length, text };
    expect(heard().attachments).toEqual([quote]);
    const { channel, ...message } = event;
    const edited = { ...message, text: `${event.text} closely` };
    const change = { subtype: "message_changed", message: edited, previous_message: message, ts: slack.state.ts() };
    for (const delivery of slack.events.send({ ...event, ...change })) await delivery.acknowledged();
    expect(agent.edited).toMatchObject([{ text: "look closely" }]);
  });

  test("what is null is absent", async () => {
    const { slack } = world;
    const mention = { type: "app_mention", user: slack.ann.id, text: `<@${slack.workspace.app.id}> hello` };
    const place = { channel: slack.general.id, ts: slack.state.ts(), thread_ts: null };
    const rest = { subtype: null, bot_id: null, bot_profile: null, username: null, files: null, attachments: null };
    for (const delivery of slack.events.send({ ...mention, ...place, ...rest })) await delivery.acknowledged();
    expect(heard().text).toBe("hello");
  });
});

describe("files", () => {
  function deliver(file: JsonObject): Promise<unknown> {
    const { slack } = world;
    const event = {
      ...{ type: "message", subtype: "file_share", user: slack.ann.id, ts: slack.state.ts(), files: [file] },
      ...{ text: `<@${slack.workspace.app.id}> this`, channel: slack.general.id, channel_type: "channel" },
    };
    return Promise.all(slack.events.send(event).map((delivery) => delivery.acknowledged()));
  }

  const contentOf = (attachment: Attachment | undefined) => openedText(world.platform, attachment);

  test("files are described when their message arrives, and downloaded when they are opened", async () => {
    const { attachments } = await say({
      files: [
        { name: "notes.md", content: "# Notes", mimetype: "text/markdown" },
        { name: "big.bin", content: Buffer.alloc(3_000_000, 1), mimetype: "application/octet-stream" },
      ],
    });
    expect(attachments.map(({ source: _source, ...rest }) => rest)).toEqual([
      { name: "notes.md", mimeType: "text/markdown", bytes: 7 },
      { name: "big.bin", mimeType: "application/octet-stream", bytes: 3_000_000 },
    ]);
    expect(await contentOf(attachments[0])).toBe("# Notes");
    expect(await contentOf(attachments[1])).toHaveLength(3_000_000);
  });

  test("another process opens files without being connected", async () => {
    const { attachments } = await say({ files: [{ name: "a.txt", content: "alpha" }] });
    const other = await world.another();
    expect(await openedText(other, attachments[0])).toBe("alpha");
    await other.close();
  });

  test("a message of nothing but files is a message", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ann);
    const message = await say({ in: dm, text: "", files: [{ name: "a.txt", content: "alpha" }] });
    expect(message).toMatchObject({ text: "", attachments: [{ name: "a.txt" }] });
  });

  test("a sign-in page is not a file, and the reason says who can help", async () => {
    const { attachments } = await say({ files: [{ name: "a.txt", content: "alpha" }] });
    const token = world.slack.tokens.get(world.slack.botToken);
    if (token !== undefined) token.scopes = token.scopes.filter((scope) => scope !== "files:read");
    expect(await contentOf(attachments[0])).toContain("files:read");
  });

  test("a redirect is not followed", async () => {
    const { attachments } = await say({ files: [{ name: "a.txt", content: "alpha" }] });
    const redirect = {
      type: "http",
      status: 302,
      headers: { location: `${world.slack.state.url}/api/api.test` },
    } as const;
    world.slack.failNext("download", redirect, redirect);
    expect(await contentOf(attachments[0])).toContain("Slack refuses");
    expect(world.slack.callsOf("api.test")).toEqual([]);
  });

  test("an HTML file that was shared is one", async () => {
    const message = await say({ files: [{ name: "a.html", content: "<p>hi</p>", mimetype: "text/html" }] });
    expect(await contentOf(message.attachments[0])).toBe("<p>hi</p>");
  });

  test("for a file that came through Slack Connect, the rest is looked up", async () => {
    const { slack } = world;
    const shared = await say({ files: [{ name: "a.txt", content: "alpha" }] });
    const [id = ""] = slack.state.files.keys();
    await deliver({ id, file_access: "check_file_info" });
    expect(heard().attachments).toEqual(shared.attachments);
  });

  test("if the lookup fails when the message arrives, it is repeated when the file is opened", async () => {
    const { slack } = world;
    await say({ files: [{ name: "a.txt", content: "alpha" }] });
    const [id = ""] = slack.state.files.keys();
    slack.failNext("files.info", { type: "error", error: "fatal_error" }, { type: "error", error: "invalid_auth" });
    await deliver({ id, file_access: "check_file_info" });
    expect(heard().attachments).toMatchObject([{ name: id, bytes: 0, source: { id } }]);
    expect(await contentOf(heard().attachments[0])).toBe("alpha");
  });

  test("a file that was deleted meanwhile gives a sentence that says what to do", async () => {
    const { slack } = world;
    const said = slack.people.say({
      ...{ as: slack.ann, in: slack.general, text: "@Remora read it" },
      files: [{ name: "a.txt", content: "alpha" }],
    });
    await said.acknowledged();
    slack.people.removeFiles(said);
    expect(await contentOf(heard().attachments[0])).toContain(
      "the file was deleted, or I can't see it any more. Send it",
    );
  });

  test("a file that Slack does not let the bot see is never requested", async () => {
    const { slack } = world;
    await deliver({ id: "F0SECRET", mode: "file_access", file_access: "access_denied" });
    expect(heard().attachments).toEqual([
      {
        ...{ name: "F0SECRET", mimeType: "application/octet-stream", bytes: 0 },
        problem: "Slack does not let me open this file. Share it in this conversation, or upload it here.",
      },
    ]);
    expect(slack.callsOf("files.info")).toEqual([]);
  });

  test("a crafted event that names a file of a channel without the bot gets nothing", async () => {
    const { slack } = world;
    const hidden = slack.workspace.addChannel({ name: "board", isPrivate: true, members: [slack.ben], hasApp: false });
    slack.people.say({ as: slack.ben, in: hidden, text: "x", files: [{ name: "salaries.csv", content: "secret" }] });
    const [id = ""] = slack.state.files.keys();
    const url = `${slack.state.url}/files-pri/${slack.state.team.id}-${id}/salaries.csv`;
    await deliver({ id, name: "a.txt", mimetype: "text/plain", size: 6, url_private: url });
    expect(await contentOf(heard().attachments[0])).toContain("I can't see it");
    await deliver({ id, file_access: "check_file_info" });
    expect(await contentOf(heard().attachments[0])).toContain("I can't see it");
  });

  test("the token goes to no host but Slack's", async () => {
    const url = "https://evil.example/a.txt";
    await deliver({ id: "F1", name: "a.txt", mimetype: "text/plain", size: 5, url_private: url });
    expect(await contentOf(heard().attachments[0])).toContain("not stored in Slack");
    await deliver({ id: "F2", name: "b.txt", is_external: true, external_type: "gdrive", url_private: url });
    expect(heard().attachments[0]).toMatchObject({ problem: expect.stringContaining("Upload the file itself") });
  });
});

describe("what the author sees", () => {
  test("the reaction that is set says that it is kept", async () => {
    await reopen({ ackReaction: ":eyes:" });
    const message = await say({});
    const ts = message.id.split(":")[1];
    await world.slack.until(
      () => world.slack.see({ in: world.slack.general }).find((each) => each.ts === ts)?.reactions[0]?.name === "eyes",
    );
  });

  test("a notice goes to the author alone: in the thread where there is one, else in the channel; in a DM as an answer", async () => {
    agent.notice = { text: "I can't answer: **guests** may not use me here." };
    const { slack } = world;
    await say({});
    await slack.until(() => slack.see({ in: slack.general, as: slack.ann }).some((each) => each.isEphemeral));
    const [notice] = slack.see({ in: slack.general, as: slack.ann }).filter((each) => each.isEphemeral);
    expect(notice).toMatchObject({ readable: "I can't answer: *guests* may not use me here.", threadTs: undefined });
    expect(slack.see({ in: slack.general, as: slack.ben }).some((each) => each.isEphemeral)).toBe(false);
    const dm = slack.workspace.direct(slack.ben);
    await say({ as: slack.ben, in: dm, text: "hello" });
    await slack.until(() => slack.see({ in: dm }).some((each) => each.isAgents));
  });

  test.each([
    { who: "a guest", guests: false, told: [expect.stringContaining("as far as I can see you are a guest")] },
    {
      who: "somebody whom Slack does not describe",
      guests: false,
      told: [expect.stringContaining("as far as I can see")],
    },
    { who: "a guest whom the setting lets in", guests: true, told: [] },
  ])(
    "when $who mentions it in a channel, they are told why there is no answer, or are heard",
    async ({ who, guests, told }) => {
      const { slack, ledger } = world;
      const lists = { users: null, roles: null, channels: null, spaces: null, dms: "open" as const, externals: false };
      const rules = { slack: { ...lists, guests, bots: [], botTurns: 3 } };
      const access = createAccess({ rules, ledger, isOwner: () => false });
      const heardBy: string[] = [];
      agent.handlers.onMessage = async (message) => {
        const verdict = await access.check(message);
        if (verdict.type === "allowed") heardBy.push(message.author.id);
        return verdict.type === "refused" ? verdict.notice : undefined;
      };
      const token = slack.tokens.get(slack.botToken);
      if (token !== undefined && who.includes("describe"))
        token.scopes = token.scopes.filter((one) => one !== "users:read");
      const gus = slack.workspace.addPerson({ name: "Gus", isGuest: !who.includes("describe") });
      const shared = slack.workspace.addChannel({ name: "shared", members: [gus], hasApp: true });
      await slack.people.say({ as: gus, in: shared, text: "@Remora hello" }).acknowledged();
      const notices = () => slack.see({ in: shared, as: gus }).filter((each) => each.isEphemeral);
      await expect.poll(() => heardBy.length + notices().length).toBe(1);
      expect(notices().map(({ readable }) => readable)).toEqual(told);
    },
  );
});
