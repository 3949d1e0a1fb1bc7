/** What is read of a thread or channel before a mention in Slack, with Slack's order of pages and its limits. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLineReader } from "../../../src/platforms/slack/inbound/lines.ts";
import { newestReplies } from "../../../src/platforms/slack/inbound/newest-replies.ts";
import type { Earlier, EarlierWanted } from "../../../src/ports/earlier.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { Said, Saying } from "../../doubles/slack/people.ts";
import { runs } from "../../faults/share.ts";
import { createTestAgent, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;
const never = new AbortController().signal;

beforeEach(async () => {
  world = await createSlackWorld();
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, never);
});
afterEach(() => world.close());

async function say(text: string, more: Partial<Saying> = {}): Promise<Said> {
  const { slack } = world;
  const said = slack.people.say({ as: slack.ben, in: slack.general, text, ...more });
  await said.acknowledged();
  return said;
}

/** Ann mentions the agent. */
async function mention(more: Partial<Saying> = {}, text = "@Remora what do you think?"): Promise<InboundMessage> {
  const said = await say(text, { as: world.slack.ann, ...more });
  const message = agent.kept.find(({ id, isAddressed }) => id.endsWith(said.ts) && isAddressed);
  if (message === undefined) throw new Error("the mention did not arrive");
  return message;
}

/** A thread of the last month, without events, as if the process had been down. Most of it was said in a few bursts. */
async function longThread(count: number): Promise<Said> {
  const root = await say("root");
  const { messages } = world.slack.state;
  const now = Number(root.ts);
  const begin = now - 30 * 86_400;
  const bursts = Array.from({ length: 12 }, (_, index) => begin + (index + 1) * 2 * 86_400);
  const times = Array.from(
    { length: count },
    (_, index) => (bursts[index % bursts.length] ?? now) + (index % 997) * 7.3,
  );
  root.message.ts = begin.toFixed(6);
  root.ts = root.message.ts;
  for (const [index, time] of times.toSorted((one, other) => one - other).entries()) {
    const ts = (time + index / 1_000_000).toFixed(6);
    messages.push({ ...root.message, ts, threadTs: root.ts, text: `line ${index + 1}`, blocks: [] });
  }
  return root;
}

async function earlier(message: InboundMessage, wanted: Partial<EarlierWanted> = {}, signal = never): Promise<Earlier> {
  const read = world.platform.earlier;
  if (read === undefined) throw new Error("nothing can be read");
  const limits = { maxMessages: 50, channelMessages: 5, channelMs: 600_000 };
  return await read(message, { said: message.text, ...limits, ...wanted }, signal);
}

const textsOf = ({ lines }: Earlier) => lines.map(({ text }) => text);
const calls = (method: string) => world.slack.callsOf(method).length;

describe("in a thread", () => {
  test("the first message and the others come with names, files and times, without the mention itself", async () => {
    const { slack } = world;
    const root = await say("Shall we ship on @Ann's word?");
    await say("see the numbers", { thread: root, files: [{ name: "numbers.csv", content: "1" }] });
    const message = await mention({ thread: root });
    const found = await earlier(message);
    expect(found).toMatchObject({ leftOut: 0, notes: [] });
    expect(found.lines).toMatchObject([
      {
        kind: "root",
        text: `Shall we ship on @Ann (${slack.ann.id})'s word?`,
        author: { id: slack.ben.id, name: "Ben" },
      },
      { kind: "thread", text: "see the numbers", files: ["numbers.csv"], isOwn: false },
    ]);
    expect(found.lines[0]?.id).toBe(`${slack.general.id}:${root.ts}`);
    expect(found.lines.every(({ at }) => at <= message.at)).toBe(true);
  });

  test("later only what was said since, without the first message", async () => {
    const root = await say("root");
    await say("before", { thread: root });
    const first = await mention({ thread: root });
    await say("since", { thread: root });
    const second = await mention({ thread: root });
    expect(textsOf(await earlier(second, { since: first.id }))).toEqual(["since"]);
    expect(textsOf(await earlier(second, { after: Date.now() + 60_000 }))).toEqual([]);
  });

  test("the agent's own messages are marked, those of bots are bots', and Slack's notices and deleted messages are left out", async () => {
    const { slack } = world;
    const bot = slack.workspace.addBot("CI");
    const root = await say("root");
    await say("build failed", { as: bot, thread: root });
    const gone = await say("a secret", { thread: root });
    slack.people.remove(gone);
    const place = {
      conversationId: `slack:${slack.state.team.id}:${slack.general.id}:${root.ts}`,
      requester: agent.kept[0]?.author,
    };
    await world.platform.chat?.post(place as never, { text: "I was here", files: [], key: "k" });
    const { lines } = await earlier(await mention({ thread: root }));
    expect(lines.map(({ text, isOwn, author }) => [text, isOwn, author.isBot])).toEqual([
      ["root", false, false],
      ["build failed", false, true],
      ["I was here", true, true],
    ]);
  });

  test("a deleted first message is left out, and what was said below it is not", async () => {
    const root = await say("root");
    await say("reply", { thread: root });
    world.slack.people.remove(root);
    expect(textsOf(await earlier(await mention({ thread: root })))).toEqual(["reply"]);
  });

  test("of 300 messages, the newest and the first are read in few calls, and the number of the others is known", async () => {
    const root = await longThread(299);
    const { lines, leftOut, notes } = await earlier(await mention({ thread: root }));
    expect(notes).toEqual([]);
    expect(lines[0]).toMatchObject({ kind: "root", text: "root" });
    const numbers = lines.slice(1).map(({ text }) => Number(text.slice(5)));
    expect(numbers.length).toBe(50);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 300 - numbers.length + index));
    expect(leftOut).toBe(299 - numbers.length);
    expect(calls("conversations.replies")).toBeLessThanOrEqual(3);
  });

  test("of 5,000 messages, the newest are read in at most six calls", async () => {
    const root = await longThread(4_999);
    const { lines, leftOut, notes } = await earlier(await mention({ thread: root }));
    expect(notes).toEqual([]);
    expect(lines.at(-1)?.text).toBe("line 4999");
    expect(lines).toHaveLength(51);
    expect(leftOut).toBe(4_999 - (lines.length - 1));
    expect(calls("conversations.replies")).toBeLessThanOrEqual(6);
  });

  test("chat_history reads the newest of a long thread, too", async () => {
    const root = await longThread(2_500);
    const { conversationId, author } = await mention({ thread: root });
    const lines = await world.platform.chat?.history({ conversationId, requester: author }, { limit: 3 });
    expect(lines?.map(({ text }) => text)).toEqual(["line 2499", "line 2500", "what do you think?"]);
    expect(calls("conversations.replies")).toBeLessThanOrEqual(6);
  });

  test("names with directions and line breaks come as they are; the prompt makes them safe", async () => {
    const { slack } = world;
    const eve = slack.workspace.addPerson({ name: "Eve\u202e\nBoss" });
    const root = await say("hi", { as: eve });
    const { lines } = await earlier(await mention({ thread: root }));
    expect(lines[0]?.author.id).toBe(eve.id);
  });

  test("people's names are left out if Slack does not tell them in time", async () => {
    const { slack } = world;
    const cleo = slack.workspace.addPerson({ name: "Cleo" });
    const root = await say("hi", { as: cleo });
    const message = await mention({ thread: root });
    slack.failNext("users.info", { type: "rate-limit", retryAfterSeconds: 50 });
    const late = new AbortController();
    const reading = earlier(message, {}, late.signal);
    await slack.until(() => slack.callsOf("users.info").some(({ args }) => args.user === cleo.id));
    late.abort(new DOMException("late", "TimeoutError"));
    expect((await reading).lines).toMatchObject([{ text: "hi", author: { id: cleo.id, name: cleo.id } }]);
  });
});

describe("outside threads", () => {
  test("the last messages of the channel come, at most as many and as old as wanted", async () => {
    for (let index = 1; index <= 8; index++) await say(`line ${index}`);
    world.slack.clock.advance(10);
    const message = await mention();
    expect(textsOf(await earlier(message))).toEqual(["line 4", "line 5", "line 6", "line 7", "line 8"]);
    expect((await earlier(message)).lines.every(({ kind }) => kind === "channel")).toBe(true);
    expect(textsOf(await earlier(message, { channelMessages: 2 }))).toEqual(["line 7", "line 8"]);
    const before = calls("conversations.history");
    expect(textsOf(await earlier(message, { channelMessages: 0 }))).toEqual([]);
    expect(calls("conversations.history")).toBe(before);
    expect(textsOf(await earlier(message, { channelMs: 1 }))).toEqual([]);
    expect(textsOf(await earlier(message, { after: message.at }))).toEqual([]);
  });

  test("a DM brings nothing", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ann);
    await say("one", { as: slack.ann, in: dm });
    const message = await mention({ in: dm }, "two");
    expect(await earlier(message)).toEqual({ lines: [], leftOut: 0, notes: [] });
  });

  test("a thread in a DM brings what it began with, once; if that was deleted, the answer is still there", async () => {
    const { slack, platform } = world;
    const dm = slack.workspace.direct(slack.ann);
    const conversationId = `slack:${slack.state.team.id}:${dm.id}`;
    const target = { platform: "slack", conversationId, turnId: "t0", messageId: "schedule:s1:1" };
    await platform.reply(target, createPosts()).finish("The report of today.", []);
    const [report] = slack.timeline(slack.ann);
    const message = await mention({ in: dm, thread: report?.ts ?? "" }, "what is new in it?");
    expect(message.conversationId).toBe(`${conversationId}:${report?.ts}`);
    const { lines } = await earlier(message);
    expect(lines).toMatchObject([{ kind: "root", isOwn: true, text: "The report of today." }]);
    expect(textsOf(await earlier(message, { since: message.id }))).toEqual([]);

    const root = await say("first", { as: slack.ann, in: dm });
    const reply = await mention({ in: dm, thread: root }, "and this?");
    for (const delivery of slack.people.remove(root)) await delivery.acknowledged();
    expect(textsOf(await earlier(reply))).toEqual([]);
    await platform.reply(targetOf(reply), createPosts()).finish("Still here.", []);
    expect(slack.timeline(slack.ann)[0]).toMatchObject({ ts: root.ts, answers: ["Still here."] });
  });
});

describe("what a person looks at beside a direct message", () => {
  async function looked(what: Parameters<typeof world.slack.people.lookAt>[1], as = world.slack.ann) {
    const { slack } = world;
    await Promise.all(slack.people.lookAt(as, what).map((delivery) => delivery.acknowledged()));
    const message = await mention({ as, in: slack.workspace.direct(as) }, "summarise this channel");
    return { message, found: (await earlier(message)).lookingAt };
  }
  const entity = (value: unknown, more: object = {}, type = "channel_id") =>
    ({ type: `slack#/types/${type}`, value, team_id: world.slack.state.team.id, ...more }) as never;

  test("the open channel comes with its name and id, also behind a canvas or as a message in it", async () => {
    const { general } = world.slack;
    const name = `#general (${general.id})`;
    expect((await looked(general)).found).toBe(name);
    expect((await looked([entity("F123", {}, "canvas_id"), entity(general.id)])).found).toBe(name);
    expect((await looked([entity({ message_ts: "1.2", channel_id: general.id }, {}, "message_context")])).found).toBe(
      name,
    );
  });

  test("a channel that the person may not read, or that the agent is not in, is not named", async () => {
    const { slack } = world;
    const secret = slack.workspace.addChannel({ name: "secret", members: [slack.ben], isPrivate: true });
    expect((await looked(secret)).found).toBeUndefined();
    expect((await looked(secret, slack.ben)).found).toBe(`#secret (${secret.id})`);
    const { message } = await looked(secret, slack.ben);
    slack.people.leave(slack.ben, secret);
    expect((await earlier(message)).lookingAt).toBeUndefined();
    const without = slack.workspace.addChannel({ name: "without", members: [slack.ann], hasApp: false });
    expect((await looked(without)).found).toBeUndefined();
    expect((await looked(slack.workspace.direct(slack.ann))).found).toBeUndefined();
  });

  test("a channel of another workspace, an empty, a closed or an unreadable context is none", async () => {
    const { general } = world.slack;
    for (const what of [[entity(general.id, { team_id: "TOTHER" })], [], undefined, ["odd", { type: 7 }] as never])
      expect((await looked(what)).found).toBeUndefined();
  });

  test("it is no longer used ten minutes after the message, and never comes with a message of a channel", async () => {
    const { general } = world.slack;
    const { message } = await looked(general);
    const old = `${Date.now() / 1_000 - 601}`.slice(0, 17);
    expect((await earlier({ ...message, id: message.id.replace(/:[\d.]+$/, `:${old}`) })).lookingAt).toBeUndefined();
    expect((await mention()).lookingAt).toBeUndefined();
  });

  test("it is left out if Slack refuses to tell about the channel, and the message is read all the same", async () => {
    const unrefused = world.slack.fail("conversations.info", { type: "error", error: "missing_scope" });
    const { message, found } = await looked(world.slack.general);
    expect(found).toBeUndefined();
    expect(message.text).toBe("summarise this channel");
    unrefused();
    expect((await earlier(message)).lookingAt).toContain("#general");
  });
});

describe("a link", () => {
  const linkTo = ({ channel, ts, message }: Said) =>
    `https://team.slack.com/archives/${channel.id}/p${ts.replace(".", "")}${message.threadTs === undefined ? "" : `?thread_ts=${message.threadTs}&cid=${channel.id}`}`;

  test("to a message of the same channel brings it, in a thread or not", async () => {
    const old = await say("an old decision");
    const reply = await say("a reply to it", { thread: old });
    for (let index = 1; index <= 6; index++) await say(`line ${index}`);
    const message = await mention({}, `@Remora explain ${linkTo(old)} and ${linkTo(reply)}`);
    const { lines } = await earlier(message);
    expect(lines.filter(({ kind }) => kind === "linked").map(({ text }) => text)).toEqual([
      "an old decision",
      "a reply to it",
    ]);
  });

  test("to another channel is not followed, be it private or open", async () => {
    const { slack } = world;
    const secret = slack.workspace.addChannel({ name: "secret", members: [slack.ben], isPrivate: true });
    const open = slack.workspace.addChannel({ name: "open", members: [slack.ben] });
    const said = [await say("a secret", { in: secret }), await say("not secret", { in: open })];
    const message = await mention({}, `@Remora read ${said.map(linkTo).join(" ")}`);
    expect(textsOf(await earlier(message))).toEqual([]);
  });

  test("works in a DM, to a message of that DM", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ann);
    const old = await say("my old note", { as: slack.ann, in: dm });
    const message = await mention({ in: dm }, `and this? ${linkTo(old)}`);
    expect(textsOf(await earlier(message))).toEqual(["my old note"]);
  });
});

describe("an app that is distributed outside the Marketplace", () => {
  beforeEach(() => {
    world.slack.limits.isDistributed = true;
  });

  test("gets the first messages from Slack and the newest from what this process received, and a note", async () => {
    const root = await longThread(40);
    await say("seen live", { thread: root });
    const { lines, notes } = await earlier(await mention({ thread: root }));
    expect(lines[0]?.kind).toBe("root");
    expect(lines.map(({ text }) => text)).toContain("line 14");
    expect(lines.at(-1)?.text).toBe("seen live");
    expect(notes).toEqual([expect.stringContaining("only 15 messages a minute")]);
    expect(calls("conversations.replies")).toBe(1);
  });

  test("does not wait for the limit: the second time in a minute only what was received is there", async () => {
    const root = await say("root");
    await say("seen live", { thread: root });
    const deleted = await say("deleted since", { thread: root });
    const edited = await say("wrong", { thread: root });
    const message = await mention({ thread: root });
    await earlier(message);
    world.slack.people.remove(deleted);
    world.slack.people.edit(edited, "right");
    await world.slack.until(() => agent.edited.length > 0 && agent.deleted.length > 0);
    const { lines, notes } = await earlier(message);
    expect(lines.map(({ kind, text }) => [kind, text])).toEqual([
      ["root", "root"],
      ["thread", "seen live"],
      ["thread", "right"],
    ]);
    expect(notes).toHaveLength(1);
  });

  test("has a short thread completely, without a note", async () => {
    const root = await say("root");
    await say("reply", { thread: root });
    expect(await earlier(await mention({ thread: root }))).toMatchObject({ notes: [] });
  });
});

describe("trouble", () => {
  test("a rate limit in the middle leaves what was read, and a note", async () => {
    const root = await longThread(900);
    const message = await mention({ thread: root });
    const { slack } = world;
    slack.limits.rates["conversations.replies"] = { perMinute: 1, burst: 1 };
    const { lines, notes } = await earlier(message);
    expect(lines[0]?.text).toBe("root");
    expect(lines.length).toBe(51);
    expect(notes).toEqual([expect.stringContaining("newest messages of this thread")]);
  });

  test("a refusal and an abort are notes, and links are read in spite of them", async () => {
    const { slack } = world;
    const root = await say("root");
    const message = await mention({ thread: root });
    slack.failNext("conversations.replies", { type: "error", error: "missing_scope" });
    expect(await earlier(message)).toMatchObject({ notes: [expect.stringContaining("the app lacks the permission")] });
    slack.failNext("conversations.replies", { type: "delay", ms: 60_000 });
    const late = new AbortController();
    const reading = earlier(message, {}, late.signal);
    await slack.until(() => calls("conversations.replies") === 2);
    late.abort(new DOMException("late", "TimeoutError"));
    expect(await reading).toMatchObject({ notes: [expect.stringContaining("did not answer in time")] });
  });

  test("a message of a schedule has nothing before it", async () => {
    const message = await mention();
    expect(await earlier({ ...message, id: "schedule:s1:1" })).toMatchObject({ lines: [] });
  });

  test("a process that never connects can read", async () => {
    const root = await say("root");
    const message = await mention({ thread: root });
    await world.restart();
    expect(textsOf(await earlier(message))).toEqual(["root"]);
  });
});

test("the search for the newest messages finds them, whenever they were said, or says that it did not", async () => {
  const times = fc.uniqueArray(fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 3_000 })), {
    minLength: 1,
    maxLength: 600,
  });
  await fc.assert(
    fc.asyncProperty(
      times,
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 5, max: 60 }),
      async (given, wanted, size) => {
        const all = given.toSorted((a, b) => a - b);
        const end = 1_000_001;
        let asked = 0;
        const fetch = async (oldest: number) => {
          asked += 1;
          const range = all.filter((time) => time > oldest && time < end);
          return { items: range.slice(0, size), hasMore: range.length > size };
        };
        const options = {
          fetch,
          position: (time: number) => time,
          begin: 0,
          end,
          wanted,
          total: all.length,
          maxCalls: 6,
        };
        const { items, reachesEnd } = await newestReplies(await fetch(0), options);
        expect(asked).toBeLessThanOrEqual(6);
        // What is returned has no gaps, and ends with the newest if it says so.
        const from = all.indexOf(items[0] ?? 0);
        expect(items).toEqual(all.slice(from, from + items.length));
        if (reachesEnd) expect(items.at(-1)).toBe(all.at(-1));
      },
    ),
    { numRuns: runs(300) },
  );
});

test("what an app posts in a person's name counts as a bot's", async () => {
  const ann = { id: "U1", name: "Ann", isBot: false, roles: [] };
  const people = { author: async () => ann, nameOf: async () => "Ann" } as never;
  const readLine = createLineReader(
    async () => ({ userId: "U9" }) as never,
    people,
    async () => "open",
  );
  const authorOf = async (more: object) =>
    (await readLine("C1", { ts: "1.000001", user: "U1", text: "hello", ...more } as never)).author;
  expect(await authorOf({})).toEqual(ann);
  expect(await authorOf({ bot_id: "B1" })).toEqual({ ...ann, isBot: true });
});
