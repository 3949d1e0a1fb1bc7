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
  async function withSearch(scopes?: string[]) {
    const opened = await open();
    const userToken = opened.slack.userToken(opened.slack.ben, scopes);
    const { botToken, apiUrl, appToken } = opened.slack;
    await opened.world.restart({ access: { botToken, apiUrl, userToken, transport: { type: "socket", appToken } } });
    const find = opened.world.platform.chat?.search;
    const search = async (query: Partial<ChatQuery>) =>
      (await find?.({ text: "axolotl", limit: 10, ...query }, undefined)) ?? [];
    return { ...opened, search };
  }

  test("is there only with a user's token", async () => {
    expect((await open()).chat.search).toBeUndefined();
    expect((await withSearch()).world.platform.chat?.search).toBeDefined();
  });

  test("finds what was said before the agent came, with author, time, readable text and permalink", async () => {
    const { slack, search } = await withSearch();
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "the axolotl tank of @Ben" });
    slack.people.say({ as: slack.ben, in: slack.general, text: "axolotl food" });
    const [found, ...rest] = await search({ author: "Ann" });
    expect(rest).toEqual([]);
    expect(found).toEqual({
      ...{ platform: "slack", id: `${slack.general.id}:${said.ts}`, channelId: slack.general.id },
      author: { id: slack.ann.id, name: "Ann" },
      text: `the axolotl tank of @Ben (${slack.ben.id})`,
      at: Math.round(Number(said.ts) * 1000),
      link: `https://${slack.state.team.domain}.slack.com/archives/${slack.general.id}/p${said.ts.replace(".", "")}`,
    });
    expect(await search({ author: slack.ben.id })).toMatchObject([{ text: "axolotl food" }]);
    expect(await search({ after: Date.now() - 3_600_000 })).toHaveLength(2);
    expect(await search({ before: Date.now() - 30 * 86_400_000 })).toEqual([]);
  });

  test("without the scope, or over its rate, fails within seconds, so that the log's results are used", async () => {
    await expect((await withSearch([])).search({})).rejects.toThrow(/missing_scope/);
    const { slack, search } = await withSearch();
    slack.failNext("search.messages", { type: "rate-limit", retryAfterSeconds: 60 });
    await expect(search({})).rejects.toMatchObject({ isRetryable: true });
  });
});
