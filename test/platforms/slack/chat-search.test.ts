/** Which of Slack's messages a requester finds, by the log and by Slack's own search. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { ChatActions, ChatQuery } from "../../../src/ports/chat.ts";
import type { Author, InboundMessage } from "../../../src/ports/message.ts";
import { describeChannels } from "../../conformance/chat-channels.ts";
import type { Person } from "../../doubles/slack/state.ts";
import { createTestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld, type WorldOptions } from "./world.ts";

const authorOf = ({ id, displayName }: Person): Author => ({ id, name: displayName, isBot: false, roles: [] });

async function open(options?: WorldOptions) {
  const world = await createSlackWorld(options);
  onTestFinished(() => world.close());
  const { chat } = world.platform;
  if (chat === undefined) throw new Error("no chat");
  return { ...world, world, chat };
}

async function namesFor(chat: ChatActions, { slack }: SlackWorld, requester: Author): Promise<string[]> {
  const conversationId = `slack:${slack.state.team.id}:${slack.general.id}`;
  return (await chat.channels({ conversationId, requester })).map(({ name }) => name).sort();
}

describeChannels("Slack", async (handlers) => {
  const world = await createSlackWorld();
  const { slack, platform } = world;
  const hidden = slack.workspace.addChannel({ name: "hidden", members: [slack.ben], isPrivate: true });
  await platform.connect({ ...createTestAgent().handlers, ...handlers }, new AbortController().signal);
  const places = { open: slack.general, hidden, "private place": slack.workspace.direct(slack.ann, slack.ben) };
  return {
    platform,
    conversationId: `slack:${slack.state.team.id}:${slack.general.id}`,
    direct: `slack:${slack.state.team.id}:${slack.workspace.direct(slack.ben).id}`,
    insider: authorOf(slack.ben),
    outsider: authorOf(slack.ann),
    say: (where, text) => void slack.people.say({ as: slack.ben, in: places[where], text }),
    leaveHidden: () => void slack.people.leave(slack.ben, hidden),
    leaveAll() {
      slack.ben.isDeleted = true;
    },
    failChecks: () => slack.failNext("users.conversations", { type: "error", error: "missing_scope" }),
    close: () => world.close(),
  };
});

describe("the channels of a requester", () => {
  test("are their own, and for full members the public ones with the agent; never DMs or where only they are", async () => {
    const { world, chat, slack } = await open();
    slack.workspace.addChannel({ name: "with-agent", members: [slack.ben] });
    slack.workspace.addChannel({ name: "without-agent", members: [slack.ben], hasApp: false });
    slack.workspace.addChannel({ name: "anns", members: [slack.ann], hasApp: false });
    slack.workspace.addChannel({ name: "anns-secret", members: [slack.ann], hasApp: false, isPrivate: true });
    slack.workspace.addChannel({ name: "bens-secret", members: [slack.ben], isPrivate: true });
    slack.workspace.direct(slack.ann);
    slack.workspace.direct(slack.ann, slack.ben);
    expect(await namesFor(chat, world, authorOf(slack.ann))).toEqual(["anns", "general", "with-agent"]);
  });

  test("for guests, people of other workspaces and bots only those that they are in; for the deleted and unknown none", async () => {
    const { world, chat, slack } = await open();
    const guest = slack.workspace.addPerson({ name: "Gus", isGuest: true });
    const stranger = slack.workspace.addPerson({ name: "Stella", isStranger: true });
    const bot = slack.workspace.addBot("Builds");
    slack.workspace.addChannel({ name: "shared", members: [guest, stranger, bot] });
    for (const person of [guest, stranger]) expect(await namesFor(chat, world, authorOf(person))).toEqual(["shared"]);
    expect(await namesFor(chat, world, { ...authorOf(bot), isBot: true })).toEqual(["shared"]);
    guest.isDeleted = true;
    expect(await namesFor(chat, world, authorOf(guest))).toEqual([]);
    expect(await namesFor(chat, world, { id: "U0NOBODY", name: "Nobody", isBot: false, roles: [] })).toEqual([]);
  });

  test("are read page by page", async () => {
    const { world, chat, slack } = await open();
    for (let index = 0; index < 1_100; index++) slack.workspace.addChannel({ name: `c${index}`, members: [slack.ann] });
    expect(await namesFor(chat, world, authorOf(slack.ann))).toHaveLength(1_101);
  });
});

test("who reads an answer decides which channels may be read for it: outsiders of a shared channel see no others", async () => {
  const { world, chat, slack } = await open();
  const requester = authorOf(slack.ann);
  const team = slack.state.team.id;
  const add = (name: string, options: object = {}) =>
    slack.workspace.addChannel({ name, members: [slack.ann], ...options });
  const places = {
    general: slack.general,
    private: add("private", { isPrivate: true }),
    partners: add("partners", { isShared: true }),
    organization: add("organization", { isOrgShared: true }),
    direct: slack.workspace.direct(slack.ann),
    group: slack.workspace.direct(slack.ann, slack.ben),
  };
  const plain = add("plain");
  const other = add("other", { isPrivate: true });
  const openIn = async (channel: { id: string }) => {
    const found = await Promise.all(
      Object.values(places).map(async ({ id }) => {
        const conversationId = `slack:${team}:${id}`;
        const one = await chat.audience({ conversationId, requester, channel: channel.id });
        const listed = (await chat.channels({ conversationId, requester })).find((each) => each.id === channel.id);
        expect(listed).toMatchObject({ isOpenHere: one.isOpenHere, isRestricted: one.isRestricted });
        return one.isOpenHere;
      }),
    );
    return Object.keys(places).filter((_, index) => found[index]);
  };
  expect(await openIn(plain)).toEqual(["general", "private", "direct", "group"]);
  expect(await openIn(other)).toEqual(["direct"]);
  expect(await openIn(places.private)).toEqual(["private", "direct"]);
  const noAccess = { code: "platform.no-access" };
  const asBen = { conversationId: `slack:${team}:${slack.general.id}`, requester: authorOf(slack.ben) };
  await expect(chat.audience({ ...asBen, channel: other.id })).rejects.toMatchObject(noAccess);
  expect(world.logged).toEqual([]);
});

describe("messages for the log", () => {
  test("have a permalink, in threads with the thread, and group DMs are told from channels without asking", async () => {
    const { world, slack, platform } = await open();
    const heard: InboundMessage[] = [];
    const { handlers } = createTestAgent();
    const onMessage = async (message: InboundMessage) => {
      heard.push(message);
      return undefined;
    };
    await platform.connect({ ...handlers, onMessage }, new AbortController().signal);
    const root = slack.people.say({ as: slack.ann, in: slack.general, text: "root" });
    await root.acknowledged();
    await slack.people.say({ as: slack.ben, in: slack.general, thread: root, text: "reply" }).acknowledged();
    await slack.people
      .say({ as: slack.ben, in: slack.workspace.direct(slack.ann, slack.ben), text: "ours" })
      .acknowledged();
    const start = `https://${slack.state.team.domain}.slack.com/archives/${slack.general.id}/p`;
    const byText = new Map(heard.map((message) => [message.text, message]));
    expect(byText.get("root")).toMatchObject({ link: `${start}${root.ts.replace(".", "")}` });
    expect(byText.get("reply")?.link).toContain(`?thread_ts=${root.ts}&cid=${slack.general.id}`);
    expect(byText.get("ours")).toMatchObject({ isPrivate: true });
    expect(world.slack.callsOf("conversations.info")).toEqual([]);
  });

  test("a mention that arrives before its message is looked up, and counts as private if that fails", async () => {
    for (const isFailing of [false, true]) {
      const { slack, platform } = await open();
      const agent = createTestAgent();
      await platform.connect(agent.handlers, new AbortController().signal);
      slack.events.unsubscribed.add("message.channels");
      if (isFailing) slack.failNext("conversations.info", { type: "error", error: "fatal_error" });
      await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" }).acknowledged();
      expect(agent.kept.at(-1)?.isPrivate).toBe(isFailing ? true : undefined);
    }
  });
});

describe("Slack's own search", () => {
  async function openFor(person: (slack: SlackWorld["slack"]) => Person, changes: WorldOptions = {}) {
    const opened = await open(changes);
    const { slack, platform } = opened;
    const agent = createTestAgent();
    await platform.connect(agent.handlers, new AbortController().signal);
    const asker = person(slack);
    slack.general.members.add(asker.id);
    const conversationId = `slack:${slack.state.team.id}:${slack.general.id}`;
    /** Mentions the agent, so that Slack's event brings a token, and searches as a tool call does. */
    const search = async (query: Partial<ChatQuery> = {}, named?: string) => {
      const said = slack.people.say({ as: asker, in: slack.general, text: "@Remora what was that?" });
      await said.acknowledged();
      return await searchFor(`${slack.general.id}:${said.ts}`, query, named);
    };
    const searchFor = async (id: string, query: Partial<ChatQuery> = {}, named?: string) => {
      const requester: Author = { ...authorOf(asker), ...(asker.isGuest ? { kind: "guest" } : {}) };
      const listed = await opened.chat.channels({ conversationId, requester });
      const channel = listed.find(({ name }) => name === named);
      const where = {
        conversationId,
        requester,
        messageIds: [id],
        listed,
        ...(channel === undefined ? {} : { channel }),
      };
      const found = await opened.chat.search?.({ text: "axolotl", limit: 10, ...query }, where);
      if (found === undefined) throw new Error("no search");
      return found;
    };
    return { ...opened, asker, search, searchFor };
  }

  test("with the token of the person's message, the bot finds what was said in public channels, also without the agent", async () => {
    const { slack, search } = await openFor(({ ann }) => ann);
    const add = (name: string, options: object = {}) =>
      slack.workspace.addChannel({ name, members: [slack.ann, slack.ben], hasApp: false, ...options });
    const [tanks, secret] = [add("tanks", { members: [slack.ben] }), add("secret", { isPrivate: true })];
    const said = slack.people.say({ as: slack.ben, in: tanks, text: "the axolotl tank of @Ann" });
    slack.people.say({ as: slack.ben, in: secret, text: "the axolotl secret" });
    slack.people.say({ as: slack.ben, in: slack.workspace.direct(slack.ann, slack.ben), text: "my axolotl" });
    const found = await search();
    expect(found.others).toEqual([{ id: tanks.id, name: "tanks", isOpenHere: true, isRestricted: false }]);
    expect(found.notice).toBeUndefined();
    expect(found.messages).toEqual([
      {
        ...{ platform: "slack", id: `${tanks.id}:${said.ts}`, channelId: tanks.id },
        author: { id: slack.ben.id, name: "Ben" },
        text: `the axolotl tank of @Ann (${slack.ann.id})`,
        at: Math.round(Number(said.ts) * 1000),
        link: `https://${slack.state.team.domain}.slack.com/archives/${tanks.id}/p${said.ts.replace(".", "")}`,
      },
    ]);
    expect((await search({ author: "Ann" })).messages).toEqual([]);
    expect((await search({ author: slack.ben.id })).messages).toHaveLength(1);
    expect((await search({ after: Date.now() + 3_600_000 })).messages).toEqual([]);
    expect((await search({}, "general")).messages).toEqual([]);
    expect(slack.callsOf("assistant.search.context").map(({ args }) => args.channel_types)).toEqual(
      Array.from({ length: 5 }, () => "public_channel"),
    );
  });

  test("outsiders of a shared channel and guests get nothing from channels that they are not in", async () => {
    for (const isGuest of [false, true]) {
      const { slack, search } = await openFor(({ ann, workspace }) =>
        isGuest ? workspace.addPerson({ name: "Gus", isGuest }) : ann,
      );
      if (!isGuest) slack.general.isShared = true;
      const plans = slack.workspace.addChannel({ name: "plans", members: [slack.ben], hasApp: false });
      slack.people.say({ as: slack.ben, in: plans, text: "axolotl plans" });
      const { messages, others, notice } = await search();
      expect([messages, others]).toEqual([[], []]);
      expect(notice?.includes("for guests")).toBe(isGuest ? true : undefined);
    }
  });

  test.each([
    ["the person has not written to it just now", undefined, "soon after the person has written to it"],
    ["the app lacks the scope", "missing_scope", "search:read.public"],
    ["the workspace's plan has no search", "feature_not_enabled", "This workspace has no search for apps"],
    ["the token is too old", "invalid_action_token", "soon after the person has written to it"],
    ["the person has searched too often", "rate_limited", "as often as Slack allows in a minute"],
    ["Slack is in trouble", "assistant_search_context_disabled", "did not work just now"],
    ["Slack answers something new", "brand_new_error", "did not work just now"],
  ])("if %s, the agent's own record is searched, and the answer says why", async (_, error, words) => {
    const { slack, search, searchFor } = await openFor(({ ann }) => ann);
    if (error !== undefined) slack.fail("assistant.search.context", { type: "error", error });
    const found = error === undefined ? await searchFor("C1:1712.000100") : await search();
    expect(found).toMatchObject({ messages: [], others: [] });
    expect(found.notice).toContain(words);
    expect(found.notice).not.toContain(error ?? "token");
  });

  test("each of a person's mentions allows it, up to Slack's limit of a minute, and never for somebody else", async () => {
    const { slack, search, chat } = await openFor(({ ann }) => ann);
    slack.people.say({ as: slack.ben, in: slack.general, text: "axolotl" });
    for (let count = 0; count < 10; count++) expect((await search()).messages).toHaveLength(1);
    expect((await search()).notice).toContain("as often as Slack allows");
    slack.clock.advance(61_000);
    expect((await search()).messages).toHaveLength(1);
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" });
    await said.acknowledged();
    const conversationId = `slack:${slack.state.team.id}:${slack.general.id}`;
    const asBen = { conversationId, requester: authorOf(slack.ben), listed: [] };
    const found = await chat.search?.(
      { text: "axolotl", limit: 10 },
      { ...asBen, messageIds: [`${slack.general.id}:${said.ts}`] },
    );
    expect(found?.messages).toEqual([]);
  });

  test("a token that comes only with the mention's own event counts", async () => {
    const { slack, search } = await openFor(({ ann }) => ann);
    slack.people.say({ as: slack.ben, in: slack.general, text: "axolotl" });
    const bringing = slack.sent.length;
    slack.events.unsubscribed.add("message.channels");
    expect((await search()).messages).toHaveLength(1);
    const events = slack.sent.slice(bringing).map(({ payload }) => JSON.stringify(payload));
    expect(events.map((event) => event.includes("action_token"))).toEqual([true]);
  });

  test("with a user's token, it finds what this person sees if the bot may not search", async () => {
    const { world, slack } = await open();
    const userToken = slack.userToken(slack.ben);
    const { botToken, apiUrl, appToken } = slack;
    await world.restart({ access: { botToken, apiUrl, userToken, transport: { type: "socket", appToken } } });
    slack.people.say({ as: slack.ann, in: slack.general, text: "the axolotl tank of @Ben" });
    slack.people.say({ as: slack.ben, in: slack.general, text: "axolotl food" });
    const where = { conversationId: "", requester: authorOf(slack.ann), messageIds: [], listed: [] };
    const search = async (query: Partial<ChatQuery>) =>
      (await world.platform.chat?.search?.({ text: "axolotl", limit: 10, ...query }, where))?.messages;
    expect(await search({ author: "Ann" })).toMatchObject([{ text: `the axolotl tank of @Ben (${slack.ben.id})` }]);
    expect(await search({ after: Date.now() - 3_600_000 })).toHaveLength(2);
    expect(await search({ before: Date.now() - 30 * 86_400_000 })).toEqual([]);
    slack.failNext("search.messages", { type: "rate-limit", retryAfterSeconds: 60 });
    await expect(search({})).rejects.toMatchObject({ isRetryable: true });
  });
});
