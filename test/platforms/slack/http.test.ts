/** Slack over HTTP: what is let in, what is answered, and what never runs. */
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { actionOf } from "../../../src/platforms/slack/outbound/cards/card-buttons.ts";
import type { AnswerChoice } from "../../../src/ports/message.ts";
import { createPosts } from "../../conformance/platform-world.ts";
import { cardFor, createTestAgent, replyTo, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;

beforeEach(async () => {
  world = await createSlackWorld({ transport: "http" });
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
});
afterEach(() => world.close());

function eventBody(text = "hello"): string {
  const { slack } = world;
  const event = {
    type: "message",
    user: slack.ann.id,
    text,
    ts: slack.state.ts(),
    channel: slack.general.id,
    channel_type: "channel",
  };
  return JSON.stringify({ type: "event_callback", team_id: slack.state.team.id, event_id: "Ev1", event });
}

describe("signatures", () => {
  test.each(["bad", "stale", "missing", "wrong-version"] as const)(
    "a request with a %s one gets 401, and nothing runs",
    async (signature) => {
      for (const body of [eventBody(), JSON.stringify({ type: "url_verification", challenge: "c" }), "ssl_check=1"]) {
        expect(await world.slack.http.sendRaw({ body, signature })).toMatchObject({ status: 401 });
      }
      expect(agent.heard).toEqual([]);
    },
  );

  test("one from more than five minutes ahead is as stale as one from behind", async () => {
    const body = eventBody();
    for (const [ahead, status] of [
      [330, 401],
      [240, 200],
      [-240, 200],
    ] as const) {
      const timestamp = String(Math.floor(Date.now() / 1000) + ahead);
      const hash = createHmac("sha256", world.slack.signingSecret).update(`v0:${timestamp}:${body}`).digest("hex");
      const headers = { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${hash}` };
      expect(await world.slack.http.sendRaw({ body, signature: "missing", headers })).toMatchObject({ status });
    }
    expect(agent.heard).toHaveLength(1);
  });

  test("a good signature of another body is a bad one", async () => {
    const sent = await world.slack.http.sendRaw({ body: eventBody() });
    expect(sent.status).toBe(200);
    const [first] = world.slack.http.log.filter((entry) => entry.body.includes("event_callback"));
    const headers = first?.headers ?? {};
    const stolen = await world.slack.http.sendRaw({ body: eventBody("other words"), signature: "missing", headers });
    expect(stolen.status).toBe(401);
  });

  test.each(["", "abc", "v0=", "v0=ß", "=", "v0"])("the signature %j is none", async (signature) => {
    const headers = {
      "x-slack-request-timestamp": String(Math.floor(Date.now() / 1000)),
      "x-slack-signature": encodeURIComponent(signature),
    };
    expect(await world.slack.http.sendRaw({ body: eventBody(), signature: "missing", headers })).toMatchObject({
      status: 401,
    });
  });
});

describe("requests", () => {
  test("the handshake is answered", async () => {
    expect(await world.slack.http.verifyUrl()).toBe(true);
    const ssl = await world.slack.http.sendRaw({
      body: "ssl_check=1&token=x",
      contentType: "application/x-www-form-urlencoded",
    });
    expect(ssl.status).toBe(200);
  });

  test.each(["", "{", "null", "[]", "7", '"x"'])("the body %j is refused as none of Slack's", async (body) => {
    expect(await world.slack.http.sendRaw({ body })).toMatchObject({ status: 400 });
  });

  test.each([
    "{}",
    '{"type":"event_callback"}',
    '{"type":"event_callback","event":{"type":"message"}}',
    '{"type":"what_is_this"}',
  ])("the body %j does no harm", async (body) => {
    const answer = await world.slack.http.sendRaw({ body });
    expect([200, 500]).toContain(answer.status);
    expect(agent.heard).toEqual([]);
  });

  test("a form whose payload is no JSON is refused", async () => {
    const answer = await world.slack.http.sendRaw({
      body: "payload=%7B",
      contentType: "application/x-www-form-urlencoded",
    });
    expect(answer.status).toBe(400);
  });

  test("a body of more than 4 MB is refused unread", async () => {
    expect(await world.slack.http.sendRaw({ body: "x".repeat(5 * 1024 * 1024) })).toMatchObject({ status: 413 });
  });

  test("a command that somebody sends once more, signature and all, is not done again", async () => {
    const { slack } = world;
    const place = { user_id: slack.ann.id, channel_id: slack.general.id, team_id: slack.state.team.id };
    const command = {
      command: "/remora",
      text: "ask hello",
      response_url: `${slack.state.url}/x`,
      trigger_id: "1.2.3",
    };
    const body = new URLSearchParams({ ...place, ...command }).toString();
    // The double signs with the second in which it sends.
    vi.useFakeTimers({ toFake: ["Date"] });
    const request = { body, contentType: "application/x-www-form-urlencoded" } as const;
    expect(await slack.http.sendRaw(request)).toMatchObject({ status: 200 });
    expect(await slack.http.sendRaw(request)).toMatchObject({ status: 200 });
    const other = { ...request, body: body.replace("1.2.3", "1.2.4") };
    expect(await slack.http.sendRaw(other)).toMatchObject({ status: 200 });
    await expect.poll(() => agent.kept.length).toBe(2);
    vi.useRealTimers();
    expect(slack.callsOf("chat.postMessage")).toHaveLength(2);
  });

  test("a message that can't be kept for now gets one sentence and no 200, and is taken when Slack sends it again", async () => {
    agent.notice = { text: "Not now.", later: "Not now, but later." };
    const { slack } = world;
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora please" });
    await slack.until(() => said.deliveries.every((delivery) => delivery.attempts[0]?.outcome?.type === "refused"));
    expect(slack.callsOf("chat.postEphemeral").map(({ args }) => args.text)).toEqual(["Not now, but later."]);
    agent.notice = undefined;
    slack.clock.advance(10);
    await said.acknowledged();
    expect(slack.callsOf("chat.postEphemeral")).toHaveLength(1);
  });

  test("what can't be kept gets 500, so that Slack sends it again, and then it is kept", async () => {
    agent.failure = new Error("the disk is full");
    const { slack } = world;
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora please" });
    await slack.until(() => said.deliveries.every((delivery) => delivery.attempts[0]?.outcome?.type === "refused"));
    expect(slack.http.log.map((entry) => entry.answer?.status)).toContain(500);
    agent.failure = undefined;
    slack.clock.advance(10);
    await said.acknowledged();
    expect(agent.kept).toHaveLength(1);
  });

  test("before it is connected, and after it is closed, nothing is taken: 503, and Slack asks again", async () => {
    await world.restart();
    expect(await world.slack.http.sendRaw({ body: eventBody() })).toMatchObject({ status: 503 });
    await world.platform.connect(agent.handlers, new AbortController().signal);
    expect(await world.slack.http.sendRaw({ body: eventBody() })).toMatchObject({ status: 200 });
    await world.platform.close();
    expect(await world.slack.http.sendRaw({ body: eventBody() })).toMatchObject({ status: 503 });
  });

  test("what was said while nobody ran is fetched at the next start", async () => {
    const { slack } = world;
    await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora before" }).acknowledged();
    await world.platform.close();
    slack.redelivery.isEnabled = false;
    slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora while away" });
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    await expect.poll(agent.texts).toEqual(["before", "while away"]);
  });
});

test("a clock that is off is told at the start, and in health", async () => {
  await world.restart();
  const { now } = Date;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 10 * 60_000);
  await world.platform.connect(agent.handlers, new AbortController().signal);
  clock.mockRestore();
  expect(world.platform.health().detail).toMatch(/clock is \d{3} s ahead of Slack's.*NTP/);
  expect(world.logged.join()).toContain("clock");
});

describe("replays", () => {
  /** Exactly as it was sent the first time. */
  async function sendAgain(of: (body: string) => boolean): Promise<number> {
    const { http } = world.slack;
    const first = http.log.find((sent) => of(sent.body));
    if (first === undefined) throw new Error("it was never sent");
    const { headers, body } = first;
    return (await http.sendRaw({ body, headers, signature: "missing" })).status;
  }

  async function startAgain(): Promise<void> {
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
  }

  const isOf = (words: string) => (body: string) => decodeURIComponent(body).includes(words);

  test("a signed command, click, form, message and edit that arrive again are acknowledged and not done again, also after a restart", async () => {
    const { slack } = world;
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora please" });
    await said.acknowledged();
    const [message] = agent.kept;
    if (message === undefined) throw new Error("nothing was kept");
    const posts = createPosts();
    await replyTo(world.platform, message, posts).ask(
      cardFor(message, 1, { editJson: "{}", choices: ["approve", "deny", "edit"] }),
    );
    const card = slack.see({ in: slack.general, thread: said.ts }).at(-1);
    const on = { channel: slack.general, ts: card?.ts ?? "" };
    const press = (choice: AnswerChoice) =>
      slack.interactions.click({
        as: slack.ann,
        on,
        forged: { actionId: actionOf(choice), value: "approval-1", blockId: "card-0-2" },
      });
    press("approve");
    await expect.poll(() => agent.answers.length).toBe(1);
    press("edit");
    const view = await slack.until(() => slack.views.stack(slack.ann).at(-1));
    slack.interactions.submit({ as: slack.ann, view });
    await expect.poll(() => agent.answers.length).toBe(2);
    slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora", text: "status" });
    await expect.poll(() => agent.commands.length).toBe(1);
    slack.people.edit(said, "@Remora please, and soon");
    await expect.poll(() => agent.edited.length).toBe(1);
    const before = structuredClone([agent.kept, agent.answers, agent.commands, agent.edited]);
    for (const when of ["now", "after a restart"]) {
      if (when !== "now") await startAgain();
      for (const words of ["event_callback", "block_actions", "view_submission", "/remora", "message_changed"])
        expect([when, words, await sendAgain(isOf(words))]).toEqual([when, words, 200]);
    }
    expect([agent.kept, agent.answers, agent.commands, agent.edited]).toEqual(before);
  });

  test("a signed request that arrives again runs if the first one failed, or if its process died before it was stored", async () => {
    const { slack } = world;
    agent.failure = new Error("the disk is full");
    const body = eventBody("kept at last");
    expect(await slack.http.sendRaw({ body })).toMatchObject({ status: 500 });
    agent.failure = undefined;
    expect(await sendAgain(isOf("kept at last"))).toBe(200);
    expect(agent.kept).toHaveLength(1);
    const other = eventBody("left by a process");
    const died = vi.spyOn(world.ledger, "transition").mockReturnValue(new Promise(() => {}));
    const leaving = new AbortController();
    const left = slack.http.sendRaw({ body: other }, leaving.signal).catch(() => "died");
    await expect.poll(() => agent.kept.length).toBe(2);
    leaving.abort();
    expect(await left).toBe("died");
    died.mockRestore();
    await startAgain();
    expect(await sendAgain(isOf("left by a process"))).toBe(200);
    expect(agent.kept).toHaveLength(3);
  });

  test("a signed request that arrives again while the first one runs is acknowledged with it", async () => {
    const keep = Promise.withResolvers<void>();
    const { onMessage } = agent.handlers;
    agent.handlers.onMessage = async (message) => {
      await keep.promise;
      return await onMessage(message);
    };
    const first = world.slack.http.sendRaw({ body: eventBody("in two copies") });
    await expect.poll(() => world.slack.http.log.length).toBe(1);
    const second = sendAgain(isOf("in two copies"));
    await expect.poll(() => world.slack.http.log.length).toBe(2);
    keep.resolve();
    expect([(await first).status, await second]).toEqual([200, 200]);
    expect(agent.kept).toHaveLength(1);
  });
});
