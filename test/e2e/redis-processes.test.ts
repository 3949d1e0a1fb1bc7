/**
 * Several processes on one Redis, with the roles `platforms`, `worker` and `all`. Each message gets one reply and one effect, in
 * order, whichever process dies.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createChatClient } from "../doubles/chat-client.ts";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import type { RemoraProcess, RunningRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";
import type { Person } from "../doubles/slack/state.ts";
import { startTraceCollector, type TraceCollector } from "../doubles/trace-collector.ts";
import { isWhole } from "../faults/share.ts";
import {
  agentsIn,
  answerIn,
  callFor,
  createDurabilityWorld,
  type DurabilityWorld,
  eventually,
  expectNothingOpen,
  newId,
  patienceMs,
} from "./durability-world.ts";

/** Longer than a busy machine holds a process up, and short enough to wait for after a kill. */
const takeoverLockMs = 10_000;

let world: DurabilityWorld;
let collector: TraceCollector;
let slack: SlackDouble;
/** Is in no channel. */
let cara: Person;

async function openWorld(): Promise<void> {
  [collector, slack] = await Promise.all([startTraceCollector(), createSlackDouble()]);
  // Only these tests' duplicates may arrive twice, even on a busy machine.
  slack.redelivery.acknowledgeWithinMs = patienceMs;
  cara = slack.workspace.addPerson({ name: "Cara" });
  const approvers = ["user:local:ann", ...[slack.ben, cara].map(({ id }) => `user:slack:${id}`)];
  const config = { shutdown: { graceMs: 200 }, tracing: { endpoint: collector.url }, safety: { approvers } };
  world = await createDurabilityWorld({ redis: {}, lockMs: takeoverLockMs, config });
}

async function closeWorld(): Promise<void> {
  await world.close();
  await Promise.all([collector.close(), slack.stop()]);
  expect(collector.problems).toEqual([]);
}

type Role = "platforms" | "worker" | "all";

function settings() {
  const { botToken, signingSecret, apiUrl } = slack;
  return { env: { SLACK_BOT_TOKEN: botToken, SLACK_SIGNING_SECRET: signingSecret, SLACK_API_URL: apiUrl } };
}

const start = (role: Role) => world.start(["--role", role], settings());
/** In this process; no test kills it. */
const startHere = (role: Role, more: { data?: string } = {}) =>
  world.startHere(["--role", role], { ...settings(), ...more });
const eventsOf = ({ url }: RunningRemora) => `${url}/slack/events`;

/** The turns that the message has begun. */
async function turnsOf(id: string) {
  const turns = await (await world.ledger()).list("turn", {});
  return turns.filter(({ body }) => JSON.stringify(body.messages).includes(id));
}

/** Counts Redis commands that contain the text. Uses a plain socket, because ioredis 6 mistakes MONITOR output for replies. */
async function watchCommands(text: string): Promise<{ seen(): number; end(): void }> {
  const socket = connect(world.redis.port, world.redis.host).setEncoding("utf8");
  socket.write("MONITOR\r\n");
  await once(socket, "data");
  let seen = 0;
  createInterface(socket).on("line", (line) => {
    if (line.includes(text)) seen++;
  });
  return { seen: () => seen, end: () => socket.destroy() };
}

/** The numbers of `plain <id>x<number>` messages in each model request that has any. */
function shownNumbers(id: string): number[][] {
  const said = new RegExp(`plain ${id}x(\\d+)`, "g");
  return world.model.requests
    .filter((request) => request.includes(id))
    .map((request) => {
      const { messages } = JSON.parse(request.slice(request.indexOf("{"))) as { messages: { role: string }[] };
      const user = JSON.stringify(messages.filter(({ role }) => role === "user"));
      const peoples = user.replace(/<memory>.*?<\/memory>/g, "");
      return Array.from(peoples.matchAll(said), ([, number]) => Number(number));
    })
    .filter((shown) => shown.length > 0);
}

const numbers = Array.from({ length: 20 }, (_, number) => number);

/** A person who writes `plain <id>x<number>` in one thread. */
async function talkAt({ url, token }: RunningRemora): Promise<{ id: string; say(number: number): Promise<void> }> {
  const ann = await createChatClient(url, token);
  ann.close();
  const id = newId();
  let thread: string | undefined;
  return {
    id,
    async say(number) {
      const [text, place] = [`plain ${id}x${number}`, { channel: "general" }];
      const said = await ann.say(`@remora ${text}`, thread === undefined ? place : { ...place, thread });
      thread ??= said.id;
    },
  };
}

/** Each number is in one turn, and every request has all earlier ones. A request may repeat after a crash. */
async function expectInOrder(id: string): Promise<void> {
  const ledger = await world.ledger();
  await expectNothingOpen(ledger);
  const messages = (await ledger.list("turn", {})).flatMap(({ body }) => body.messages);
  const said = messages.filter(({ text }) => text.includes(id)).map(({ text }) => Number(/x(\d+)$/.exec(text)?.[1]));
  expect(said).toEqual(numbers);
  const shown = shownNumbers(id);
  for (const one of shown) expect(one).toEqual(numbers.slice(0, one.length));
  const lengths = shown.map((one) => one.length);
  expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
  expect(lengths.at(-1)).toBe(numbers.length);
}

/** One root, and everything else of the turn below it, whichever process sent it. */
async function expectTrace(turnId: string): Promise<void> {
  const ofTurn = () => collector.spans.filter(({ attributes }) => attributes["remora.turn.id"] === turnId);
  const roots = () => ofTurn().filter(({ parentSpanId }) => parentSpanId === undefined);
  await expect.poll(() => roots().length).toBe(1);
  const [root] = roots();
  const others = ofTurn().filter((span) => span !== root);
  expect(others.map(({ name }) => name.split(" ")[0])).toContain("chat");
  for (const { traceId, parentSpanId } of others)
    expect([traceId, parentSpanId]).toEqual([root?.traceId, root?.spanId]);
}

describe.skipIf(missingRedis !== undefined)(`a process for platforms, and workers${redisNote}`, () => {
  let front: RemoraProcess;
  let doomed: RemoraProcess;
  /** The worker that the next test begins with. */
  let working: RunningRemora;

  beforeAll(async () => {
    await openWorld();
    front = await start("platforms");
    slack.http.target = eventsOf(front);
  });
  afterAll(closeWorld);

  test("a worker with another data folder leaves the page's conversations alone", async () => {
    const elsewhere = await startHere("worker", { data: join(world.home.data, "..", "data-of-another-machine") });
    const watch = await watchCommands("page-home");
    const id = newId();
    await world.person.say(id, `plain ${id}`);
    const ledger = await world.ledger();
    // One per work message, and one per sweep.
    await eventually(() => expect(watch.seen()).toBeGreaterThan(2));
    watch.end();
    expect((await ledger.get("message", `local:${id}`))?.state).toBe("queued");
    doomed = await start("worker");
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
    expect(await elsewhere.stop()).toBe(0);
  });

  test("when a worker dies, another continues its turns, later messages keep their order, and nothing happens twice", async () => {
    const plain = newId();
    const { id, say } = await talkAt(front);
    for (const held of [plain, id]) world.model.hold(held, "before");
    world.tools.hold("/m", "after");
    await say(0);
    await world.person.say(plain, `plain ${plain}`);
    const safe = await callFor(world, "effect_safe");
    const again = await callFor(world, "effect_again");
    await eventually(() => expect([world.model.held(), world.tools.held()]).toEqual([2, 2]));
    working = await startHere("worker");
    for (const number of numbers.slice(1, 10)) await say(number);
    await doomed.kill();
    world.model.open();
    world.tools.open();
    for (const number of numbers.slice(10)) await say(number);
    expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
    expect(await answerIn(world, safe)).toContain("unknown");
    expect(world.effects(safe)).toBe(1);
    expect(await answerIn(world, again)).toContain(`effect ${again}`);
    await expectInOrder(id);
  });

  test.runIf(isWhole)("a stopped worker hands over its turns", async () => {
    const plain = newId();
    world.model.hold(plain, "before");
    await world.person.say(plain, `plain ${plain}`);
    await eventually(() => expect(world.model.held()).toBe(1));
    const next = await startHere("worker");
    expect(await working.stop()).toBe(0);
    world.model.open();
    expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
    await expectNothingOpen(await world.ledger());
    working = next;
  });

  test("a message sent twice gets one reply and has one effect", async () => {
    await startHere("worker");
    const [plain, call] = [newId(), newId()];
    await Promise.all([plain, plain, plain].map((id) => world.person.say(id, `plain ${id}`)));
    await Promise.all([call, call, call].map((id) => world.person.say(id, `call effect_safe ${id}`)));
    expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
    expect(await answerIn(world, call)).toContain(`effect ${call}`);
    expect(world.effects(call)).toBe(1);
    await expectNothingOpen(await world.ledger());
    for (const id of [plain, call]) {
      expect(agentsIn(await world.person.thread(id))).toHaveLength(1);
      const turns = await turnsOf(id);
      expect(turns).toHaveLength(1);
      for (const turn of turns) await expectTrace(turn.id);
    }
  });

  test.runIf(isWhole)("two workers keep the order of a conversation", async () => {
    const { id, say } = await talkAt(front);
    for (const number of numbers) await say(number);
    await expectInOrder(id);
  });

  test("on Slack the first sign, a card's copy by direct message, and Retry work, each once", async () => {
    const id = newId();
    world.model.hold(id, "before");
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora call effect_ask ${id}` });
    const agents = (of = said) => slack.see({ in: slack.general, thread: of.ts }).filter(({ isAgents }) => isAgents);
    const privately = () => slack.see({ in: slack.workspace.direct(cara) }).filter(({ isAgents }) => isAgents);
    const offering = (button: string) => (message: SeenMessage) =>
      message.buttons.some(({ label }) => label === button);
    await slack.until(() => slack.sessions.of(slack.general, said.ts)?.status === "processing", patienceMs);
    expect(agents()).toEqual([]);
    world.model.open();
    const card = await slack.until(() => agents().find(offering("Approve")), patienceMs);
    expect(card.pings).toEqual([slack.ben.id]);
    const copy = await slack.until(() => privately().find(offering("Approve")), patienceMs);
    const inDm = { channel: slack.workspace.direct(cara), ts: copy.ts };
    await slack.interactions.click({ as: cara, on: inDm, button: "Approve" }).acknowledged();
    await slack.until(() => agents().some(({ readable }) => readable.includes(`effect ${id}`)), patienceMs);
    await slack.until(() => ![...agents(), ...privately()].some(offering("Approve")), patienceMs);
    expect(world.effects(id)).toBe(1);
    expect(agents().flatMap(({ pings }) => pings)).toEqual([slack.ben.id]);
    const states = () => slack.sessions.states(slack.general, said.ts).join(" ");
    await expect.poll(states, { timeout: patienceMs }).toBe("processing* suspended processing* active");

    const again = newId();
    world.model.refuse(again);
    const asked = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora plain ${again}` });
    const failure = await slack.until(() => agents(asked).find(offering("Retry")), patienceMs);
    world.model.open();
    const retry = () =>
      slack.interactions.click({ as: slack.ann, on: { channel: slack.general, ts: failure.ts }, button: "Retry" });
    await Promise.all([retry().acknowledged(), retry().acknowledged()]);
    const isDone = ({ readable }: SeenMessage) => readable.includes(`You said plain ${again}`);
    await slack.until(() => agents(asked).some(isDone), patienceMs);
    await expectNothingOpen(await world.ledger());
    expect(agents(asked).filter(isDone)).toHaveLength(1);
    expect([(await turnsOf(id)).length, (await turnsOf(again)).length]).toEqual([1, 2]);
  });

  test("when the platforms process dies, the worker finishes its turns, and a click works after the next start", async () => {
    const asks = await callFor(world, "effect_ask");
    await eventually(async () =>
      expect((await agentsIn(await world.person.thread(asks))).at(-1)?.state).toBe("waiting"),
    );
    const plain = newId();
    world.model.hold(plain, "before");
    await world.person.say(plain, `plain ${plain}`);
    await eventually(() => expect(world.model.held()).toBe(1));
    await front.kill();
    world.model.open();
    const ledger = await world.ledger();
    await eventually(async () => expect((await ledger.get("message", `local:${plain}`))?.state).toBe("answered"));
    world.front(await startHere("platforms"));
    expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
    await world.person.approve(asks);
    expect(await answerIn(world, asks)).toContain(`effect ${asks}`);
    expect(world.effects(asks)).toBe(1);
    await expectNothingOpen(ledger);
  });
});

describe.skipIf(missingRedis !== undefined)(`two complete processes${redisNote}`, () => {
  let first: RunningRemora;
  let second: RunningRemora;
  /** The first one, where it is killed. */
  let doomed: RemoraProcess | undefined;

  beforeAll(async () => {
    await openWorld();
    doomed = isWhole ? await start("all") : undefined;
    first = doomed ?? (await startHere("all"));
    second = await startHere("all");
  });
  afterAll(closeWorld);

  test.each(["at once", "after the answer"])(
    "an event that Slack delivers to both, %s, is answered once, and has one effect",
    async (when) => {
      const id = newId();
      slack.http.target = eventsOf(first);
      const said = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora call effect_safe ${id}` });
      const agents = () => slack.see({ in: slack.general, thread: said.ts }).filter((message) => message.isAgents);
      const answer = () => agents().find((message) => message.readable.includes(`effect ${id}`));
      if (when === "after the answer") await slack.until(answer, patienceMs);
      slack.http.target = eventsOf(second);
      const events = slack.sent.filter(({ payload }) => JSON.stringify(payload).includes(`call effect_safe ${id}`));
      expect(events.length).toBeGreaterThan(0);
      await Promise.all([...events, ...events.map(slack.repeat)].map((event) => event.acknowledged()));
      await slack.until(answer, patienceMs);
      await expectNothingOpen(await world.ledger());
      expect(world.effects(id)).toBe(1);
      expect(agents()).toHaveLength(1);
      expect(await turnsOf(id)).toHaveLength(1);
    },
  );

  test("a signed command that a stranger has captured runs in one of them, whichever gets it again", async () => {
    const id = newId();
    const place = { user_id: slack.ann.id, channel_id: slack.general.id, team_id: slack.state.team.id };
    const command = {
      command: "/remora",
      text: `ask plain ${id}`,
      trigger_id: id,
      response_url: `${slack.state.url}/x`,
    };
    const contentType = "application/x-www-form-urlencoded" as const;
    const body = new URLSearchParams({ ...place, ...command }).toString();
    slack.http.target = eventsOf(first);
    expect(await slack.http.sendRaw({ body, contentType })).toMatchObject({ status: 200 });
    const { headers = {} } = slack.http.log.find((sent) => sent.body === body) ?? {};
    for (const process of [second, first]) {
      slack.http.target = eventsOf(process);
      const again = Array.from({ length: 3 }, () =>
        slack.http.sendRaw({ body, contentType, headers, signature: "missing" }),
      );
      for (const { status } of await Promise.all(again)) expect(status).toBe(200);
    }
    const questions = () =>
      slack.callsOf("chat.postMessage").filter(({ args }) => JSON.stringify(args).includes(`asks: plain ${id}`));
    await eventually(async () => expect(await turnsOf(id)).toHaveLength(1));
    await expectNothingOpen(await world.ledger());
    expect(questions()).toHaveLength(1);
  });

  test("one serves the page, and each message gets one reply and one effect", async () => {
    expect(second.stderr()).toContain("another process serves the page");
    const calls = await Promise.all(Array.from({ length: 8 }, () => callFor(world, "effect_safe")));
    for (const id of calls) expect(await answerIn(world, id)).toContain(`effect ${id}`);
    expect(calls.map(world.effects)).toEqual(calls.map(() => 1));
    await expectNothingOpen(await world.ledger());
  });

  // With the roles apart, the tests above kill one in every run.
  test.runIf(isWhole)("when one dies, the other finishes its turns", async () => {
    const plain = newId();
    world.model.hold(plain, "before");
    await world.person.say(plain, `plain ${plain}`);
    await eventually(() => expect(world.model.held()).toBe(1));
    await doomed?.kill();
    world.model.open();
    const ledger = await world.ledger();
    await eventually(async () => expect((await ledger.get("message", `local:${plain}`))?.state).toBe("answered"));
    world.front(await world.startHere());
    expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
  });
});
