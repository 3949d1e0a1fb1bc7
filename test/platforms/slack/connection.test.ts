/** The life of the connection: cut, silent, asked to leave, refused; and what was said meanwhile. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { silentLog } from "../../../src/lib/log.ts";
import { createSlackApi } from "../../../src/platforms/slack/api/api.ts";
import { createTestAgent, replyTo, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;
const never = () => new AbortController().signal;

async function open(options: Parameters<typeof createSlackWorld>[0] = {}): Promise<void> {
  world = await createSlackWorld(options);
  agent = createTestAgent();
}

beforeEach(() => open());
afterEach(() => world.close());

async function connect(): Promise<void> {
  await world.platform.connect(agent.handlers, never());
}

function mention(text: string) {
  const { slack } = world;
  return slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${text}` });
}

describe("a connection that goes away", () => {
  test("a cut socket is back, and what was said meanwhile is fetched, not waited for", async () => {
    await connect();
    await mention("before").acknowledged();
    const { slack } = world;
    slack.sockets.cut();
    mention("meanwhile");
    await slack.until(() => slack.sockets.count() === 1);
    await expect.poll(agent.texts, { timeout: 5_000 }).toEqual(["before", "meanwhile"]);
    // Slack itself would send it again after a minute.
    expect(slack.sent.every((delivery) => delivery.attempts.length === 1)).toBe(true);
    await expect.poll(() => world.platform.health()).toMatchObject({ isConnected: true });
  });

  test("a socket that has gone silent is noticed by its pings", async () => {
    await connect();
    await mention("before").acknowledged();
    const { slack } = world;
    slack.sockets.silence();
    mention("into the void");
    await slack.until(() => slack.sockets.opened() === 2);
    await expect.poll(agent.texts, { timeout: 5_000 }).toEqual(["before", "into the void"]);
  });

  test("a blocked event loop does not look like silence", async () => {
    await connect();
    await mention("before").acknowledged();
    const { slack } = world;
    await slack.until(() => slack.sockets.pings.fromApp > 0);
    for (let times = 0; times < 2; times += 1) {
      // Longer than the connection may be silent. Pongs wait in the socket while timers run.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
      const seen = slack.sockets.pings.fromApp;
      await slack.until(() => slack.sockets.pings.fromApp > seen + 1);
    }
    await mention("after").acknowledged();
    expect(slack.sockets.opened()).toBe(1);
  });

  test("a person's first words are fetched as well when they write to it while the socket is cut", async () => {
    await connect();
    await mention("hello").acknowledged();
    const { slack } = world;
    slack.redelivery.isEnabled = false;
    slack.sockets.cut();
    slack.people.say({ as: slack.ben, in: slack.workspace.direct(slack.ben), text: "my first words" });
    await expect.poll(agent.texts, { timeout: 5_000 }).toEqual(["hello", "my first words"]);
  });

  test("a thread and a DM are caught up as well, oldest first, each once", async () => {
    await connect();
    const { slack } = world;
    const thread = mention("a thread");
    await thread.acknowledged();
    const dm = slack.workspace.direct(slack.ben);
    await slack.people.say({ as: slack.ben, in: dm, text: "hello" }).acknowledged();
    slack.sockets.cut();
    slack.people.say({ as: slack.ann, in: slack.general, thread, text: "in it, one" });
    slack.people.say({ as: slack.ben, in: slack.general, thread, text: "in it, two" });
    slack.people.say({ as: slack.ben, in: dm, text: "still there?" });
    await expect.poll(() => agent.texts().length, { timeout: 5_000 }).toBe(5);
    expect(agent.texts().filter((text) => text.startsWith("in it"))).toEqual(["in it, one", "in it, two"]);
    slack.clock.advance(61_000);
    await expect.poll(() => slack.sent.every((delivery) => delivery.state === "acknowledged")).toBe(true);
    expect(new Set(agent.kept.filter((each) => each.isAddressed).map((each) => each.id)).size).toBe(5);
  });

  test("asked by Slack to leave while a message is being kept: another connection, and the message is one", async () => {
    await connect();
    const { slack } = world;
    let keep = () => {};
    const { onMessage } = agent.handlers;
    agent.handlers.onMessage = async (message) => {
      await new Promise<void>((resolve) => {
        keep = resolve;
      });
      return await onMessage(message);
    };
    mention("hold this");
    await expect.poll(() => keep.name !== "keep").toBe(true);
    slack.sockets.disconnect("refresh_requested");
    await slack.until(() => slack.sockets.opened() === 2);
    agent.handlers.onMessage = onMessage;
    keep();
    await expect.poll(agent.texts).toEqual(["hold this"]);
    slack.clock.advance(61_000);
    await expect.poll(() => slack.sent.every((delivery) => delivery.state === "acknowledged")).toBe(true);
    expect(agent.texts()).toEqual(["hold this"]);
  });

  test("when Slack takes no connection for a while it is tried on, and 429 is waited for", async () => {
    await connect();
    const { slack } = world;
    slack.failNext(
      "apps.connections.open",
      { type: "http", status: 503 },
      { type: "rate-limit", retryAfterSeconds: 1 },
      { type: "cut" },
    );
    slack.sockets.cut();
    await expect.poll(() => world.platform.health().isConnected).toBe(false);
    await slack.until(() => slack.sockets.opened() === 2);
    await expect.poll(() => world.platform.health().isConnected).toBe(true);
    await mention("after").acknowledged();
    expect(agent.texts()).toEqual(["after"]);
  });

  test("frames that make no sense do no harm", async () => {
    await connect();
    const { slack } = world;
    for (const frame of [
      "",
      "null",
      "[]",
      "{}",
      '{"type":"events_api"}',
      '{"type":"events_api","payload":{"event":null}}',
      "x",
    ]) {
      slack.sockets.sendRaw(frame);
    }
    slack.sockets.sendRaw(
      JSON.stringify({
        type: "events_api",
        envelope_id: "e",
        payload: { type: "event_callback", event: { type: "message" } },
      }),
    );
    slack.sockets.sendRaw(
      JSON.stringify({ type: "interactive", envelope_id: "f", payload: { type: "block_actions", user: {} } }),
    );
    await mention("still well").acknowledged();
    expect(agent.texts()).toEqual(["still well"]);
  });

  test("after close nothing is taken and nothing is connected", async () => {
    await connect();
    await world.platform.close();
    await world.slack.until(() => world.slack.sockets.count() === 0);
    expect(world.platform.health().isConnected).toBe(false);
  });
});

describe("several sockets", () => {
  test("each event is one process's; a thread that one of them answers in is known to both, and when one leaves the other hears all", async () => {
    await connect();
    const second = createTestAgent();
    const other = await world.another();
    await other.connect(second.handlers, never());
    const { slack } = world;
    const said = Array.from({ length: 8 }, (_, index) => mention(`question ${index}`));
    await Promise.all(said.map((each) => each.acknowledged()));
    const all = () => [...agent.kept, ...second.kept];
    expect(new Set(all().map((each) => each.id)).size).toBe(8);
    for (const thread of said) {
      await slack.people.say({ as: slack.ben, in: slack.general, thread, text: "and this?" }).acknowledged();
    }
    const answers = all().filter((each) => each.text === "and this?");
    expect(new Set(answers.map((each) => each.id)).size).toBe(8);
    expect(answers.every((each) => each.isAddressed)).toBe(true);
    await world.platform.close();
    await slack.until(() => slack.sockets.count() === 1);
    const before = second.kept.length;
    for (const text of ["last", "very last"]) await mention(text).acknowledged();
    expect(second.kept.slice(before).map((each) => each.text)).toEqual(["last", "very last"]);
  });
});

describe("downtime", () => {
  test("what was said while nobody ran is answered once at the next start, in channels, threads and new DMs", async () => {
    await connect();
    const { slack } = world;
    const thread = mention("first");
    await thread.acknowledged();
    await world.platform.close();
    slack.redelivery.isEnabled = false;
    mention("while away");
    slack.people.say({ as: slack.ben, in: slack.general, thread, text: "in the thread" });
    slack.people.say({ as: slack.ben, in: slack.general, text: "not for the agent" });
    const cara = slack.workspace.addPerson({ name: "Cara" });
    slack.people.say({ as: cara, in: slack.workspace.direct(cara), text: "we have not met" });
    await world.restart();
    await connect();
    await expect
      .poll(() => agent.texts().toSorted(), { timeout: 5_000 })
      .toEqual(["first", "while away", "in the thread", "we have not met"].toSorted());
    await world.restart();
    await connect();
    await mention("and on").acknowledged();
    expect(agent.texts().filter((text) => text === "while away")).toHaveLength(1);
  });

  test("first words in a DM that was opened long before are answered at the next start", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ben);
    dm.created -= 7_000;
    await connect();
    await mention("hello").acknowledged();
    await world.platform.close();
    slack.redelivery.isEnabled = false;
    slack.people.say({ as: slack.ben, in: dm, text: "my first words" });
    await world.restart();
    await connect();
    await expect.poll(agent.texts).toEqual(["hello", "my first words"]);
  });

  test("a message that could not be kept holds the cursor: the next start fetches it", async () => {
    await connect();
    const { slack } = world;
    slack.redelivery.isEnabled = false;
    await mention("kept").acknowledged();
    agent.failure = new Error("the disk is full");
    const lost = mention("not kept");
    await expect.poll(() => agent.heard.some((each) => each.text === "not kept")).toBe(true);
    agent.failure = undefined;
    await mention("kept again").acknowledged();
    expect(lost.deliveries.every((delivery) => delivery.state !== "acknowledged")).toBe(true);
    await world.restart();
    await connect();
    await expect.poll(agent.texts).toContain("not kept");
  });

  test("the first start of all fetches nothing: what was said before is none of the agent's", async () => {
    mention("long ago");
    await connect();
    await mention("now").acknowledged();
    expect(agent.texts()).toEqual(["now"]);
    expect(world.slack.callsOf("conversations.history")).toEqual([]);
  });

  test("a message that makes no sense hides none of those around it", async () => {
    await connect();
    await mention("first").acknowledged();
    await world.platform.close();
    mention("second");
    const odd = world.slack.people.say({ as: world.slack.ben, in: world.slack.general, text: "odd" });
    Object.assign(odd.message, { text: { is: "none" } });
    mention("third");
    await world.restart();
    await connect();
    await expect.poll(agent.texts).toEqual(["first", "second", "third"]);
  });

  test("a channel the agent was removed from stops nothing", async () => {
    await connect();
    const { slack } = world;
    const other = slack.workspace.addChannel({ name: "other", members: [slack.ann] });
    await slack.people.say({ as: slack.ann, in: other, text: "@Remora hi" }).acknowledged();
    await mention("first").acknowledged();
    await world.platform.close();
    other.members.delete(slack.workspace.app.id);
    mention("second");
    await world.restart();
    await connect();
    await expect.poll(agent.texts).toContain("second");
  });
});

test("a scope that the token lacks is named until it is there", async () => {
  const token = world.slack.tokens.get(world.slack.botToken);
  if (token === undefined) throw new Error("the double has no bot token");
  const all = token.scopes;
  token.scopes = all.filter((scope) => scope !== "reactions:write");
  await connect();
  expect(world.platform.health()).toMatchObject({
    isConnected: true,
    detail: expect.stringContaining("the bot token lacks reactions:write"),
  });
  token.scopes = all;
  await world.platform.probe?.(new AbortController().signal);
  expect(world.platform.health().detail).not.toContain("lacks");
});

describe("redelivery", () => {
  test("an event that could not be kept is handed in again when Slack sends it again", async () => {
    await connect();
    agent.failure = new Error("the disk is full");
    const said = mention("please");
    await expect.poll(() => agent.heard.length).toBeGreaterThan(0);
    agent.failure = undefined;
    // Slack's second try comes when three seconds have gone by without an acknowledgement.
    world.slack.clock.advance(3_100);
    await said.acknowledged();
    expect(agent.texts()).toEqual(["please"]);
    expect(agent.kept.filter((each) => each.isAddressed)).toHaveLength(1);
  });

  test("one text that comes as mention and as message, in either order and again, is handed in once", async () => {
    await connect();
    const { slack } = world;
    for (const mentionFirst of [true, false]) {
      const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello", mentionFirst });
      expect(said.deliveries).toHaveLength(2);
      await said.acknowledged();
      await Promise.all(said.deliveries.map((delivery) => slack.repeat(delivery).acknowledged()));
    }
    expect(agent.heard).toHaveLength(2);
  });
});

describe("refused by Slack", () => {
  test.each([
    ["revoked", "token_revoked"],
    ["inactive", "account_inactive"],
  ] as const)("a bot token that is %s is named at the start", async (state, error) => {
    const token = world.slack.tokens.get(world.slack.botToken);
    if (token !== undefined) token.state = state;
    await expect(connect()).rejects.toThrow(error);
    expect(world.platform.health()).toMatchObject({ isConnected: false });
  });

  test("a wrong app token is named at the start", async () => {
    const { slack } = world;
    await world.restart({
      access: { botToken: slack.botToken, apiUrl: slack.apiUrl, transport: { type: "socket", appToken: "xapp-wrong" } },
    });
    await expect(connect()).rejects.toThrow("invalid_auth");
    expect(world.platform.health().detail).toContain("SLACK_APP_TOKEN");
  });

  test.each(["bot", "app"] as const)("beside another service, a refused %s token is tried again", async (kind) => {
    const { slack } = world;
    await world.restart({ refusedTokenRetryMs: 200 });
    const token = slack.tokens.get(kind === "bot" ? slack.botToken : slack.appToken);
    if (token === undefined) throw new Error(`the double has no ${kind} token`);
    token.state = "revoked";
    await connect();
    expect(world.platform.health()).toMatchObject({
      isConnected: false,
      detail: expect.stringContaining("token_revoked"),
    });
    token.state = "active";
    await expect.poll(() => world.platform.health().isConnected).toBe(true);
    await mention("hello").acknowledged();
    expect(agent.kept.map(({ text }) => text)).toEqual(["hello"]);
  });

  test("a token that is revoked later is named in health, and the card that needs it has no route", async () => {
    await connect();
    await mention("hello").acknowledged();
    const token = world.slack.tokens.get(world.slack.botToken);
    if (token !== undefined) token.state = "revoked";
    const [message] = agent.kept;
    if (message === undefined) throw new Error("nothing was heard");
    await expect(replyTo(world.platform, message).finish("an answer", [])).rejects.toThrow("token_revoked");
    expect(world.platform.health()).toMatchObject({
      isConnected: false,
      detail: expect.stringContaining("token_revoked"),
    });
    if (token !== undefined) token.state = "active";
    await replyTo(world.platform, message).finish("an answer", []);
    expect(world.platform.health()).toMatchObject({
      isConnected: true,
      detail: expect.not.stringContaining("token_revoked"),
    });
  });

  test("a scope that is missing is named with the method that needs it and where to add it; the message counts as a guest's", async () => {
    const token = world.slack.tokens.get(world.slack.botToken);
    if (token !== undefined) token.scopes = token.scopes.filter((scope) => scope !== "users:read");
    await connect();
    await mention("hello").acknowledged();
    expect(agent.kept.find((each) => each.isAddressed)?.author).toMatchObject({ kind: "guest" });
    const { detail } = world.platform.health();
    for (const part of ["users.info", "users:read", "OAuth & Permissions"]) expect(detail).toContain(part);
    expect(world.logged.filter((line) => line.includes("users.info"))).toHaveLength(1);
  });

  test("when the app is removed, health says so", async () => {
    await connect();
    for (const delivery of world.slack.events.send({ type: "app_uninstalled" })) await delivery.acknowledged();
    expect(world.platform.health()).toMatchObject({ isConnected: false, detail: expect.stringContaining("removed") });
  });
});

describe("a limit of Slack's", () => {
  test("429 is waited for as long as Slack says, and the answer comes", async () => {
    await connect();
    await mention("hello").acknowledged();
    const [message] = agent.kept;
    if (message === undefined) throw new Error("nothing was heard");
    world.slack.failNext("chat.postMessage", { type: "rate-limit", retryAfterSeconds: 1 });
    await replyTo(world.platform, message).finish("an answer", []);
    const [first, second] = world.slack.callsOf("chat.postMessage");
    expect(first?.status).toBe(429);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
  });

  test("a wait of a minute and more loses no answer", async () => {
    const logged: object[] = [];
    const ended = new AbortController();
    const { slack } = world;
    const api = createSlackApi({
      ...{ token: slack.botToken, apiUrl: slack.apiUrl, onProblem: () => {}, signal: ended.signal },
      log: { ...silentLog, info: (fields) => logged.push(fields) },
    });
    slack.failNext("chat.postMessage", { type: "rate-limit", retryAfterSeconds: 90 });
    const args = { channel: slack.general.id, text: "an answer" };
    const posting = api.call("chat.postMessage", args, z.unknown(), { isOnce: true });
    posting.catch(() => {});
    await expect.poll(() => logged).toMatchObject([{ waitMs: 90_000 }]);
    ended.abort();
    await expect(posting).rejects.toThrow();
  });

  test("a method that Slack asked to wait is left alone until then by those who can do without it", async () => {
    await connect();
    await mention("one").acknowledged();
    await mention("two").acknowledged();
    world.slack.failNext("chat.startStream", { type: "rate-limit", retryAfterSeconds: 60 });
    for (const message of agent.kept) {
      const reply = replyTo(world.platform, message);
      await reply.write(message.text);
      await reply.finish(message.text, []);
    }
    expect(world.slack.callsOf("chat.startStream")).toHaveLength(1);
    const said = world.slack.see({ in: world.slack.general }).filter((each) => each.isAgents);
    expect(said.map((each) => each.readable)).toEqual(["one", "two"]);
  });
});
