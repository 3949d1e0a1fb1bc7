/**
 * Each error that a method documents, and one that nobody knows, is given once to each caller of the method: nothing is lost,
 * nobody reads a name of Slack's, nothing is tried for ever. Plain runs take a share of the errors; `npm run chaos` takes all.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatActions } from "../../../src/ports/chat.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Posts } from "../../../src/ports/platform.ts";
import { createCard, createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import { type DocumentedMethod, errorsOf } from "../../doubles/slack/method-errors.ts";
import { shareOf } from "../../faults/share.ts";
import { createTestAgent, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

const words = "What must not be lost.";
const unknown = "an_error_of_next_year";
/** Of these, the next process or the next sweep tries again. */
const away = ["platform.away", "platform.no-route"];
const sharesOf = 12;
const maxCalls = 12;

let world: SlackWorld;
let agent: TestAgent;
let message: InboundMessage;
let turns = 0;

beforeAll(async () => {
  world = await createSlackWorld();
  world.slack.limits.isEnforced = false;
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  await world.slack.people.say({ as: world.slack.ann, in: world.slack.general, text: "@Remora hello" }).acknowledged();
  message = agent.kept.find(({ isAddressed }) => isAddressed) as InboundMessage;
});
afterAll(() => world.close());

const chat = () => world.platform.chat as ChatActions;
const here = () => ({ conversationId: message.conversationId, requester: message.author });
const reply = (posts: Posts = createPosts()) =>
  world.platform.reply({ ...targetOf(message), turnId: `refused${turns}` }, posts);

async function streamed(refuse: () => void): Promise<void> {
  const stream = reply();
  await stream.write("What must not");
  refuse();
  await stream.finish(words, []);
}

async function updated(refuse: () => void): Promise<void> {
  const posts = createPosts();
  const first = reply(posts);
  await first.write("What must not");
  await first.leave?.();
  refuse();
  await reply(posts).finish(words, []);
}

interface Caller {
  method: DocumentedMethod;
  /** Calls `refuse` right before the call. */
  run(refuse: () => void): Promise<unknown>;
  /** What people must be able to read afterwards, if it did not reject. */
  says?: string;
}

const after = (work: () => Promise<unknown>) => async (refuse: () => void) => {
  refuse();
  await work();
};
const callers: Record<string, Caller> = {
  "an answer": { method: "chat.postMessage", run: after(() => reply().finish(words, [])), says: words },
  "a failure": { method: "chat.postMessage", run: after(() => reply().fail("", words)), says: words },
  "a line": { method: "chat.postMessage", run: after(() => reply().note({ key: "n", line: [words] })), says: words },
  "a card": { method: "chat.postMessage", run: after(() => reply().ask(createCard(message))), says: "" },
  "a question": { method: "chat.postMessage", run: after(() => reply().question(createQuestion(message))), says: "" },
  "a tool's post": {
    method: "chat.postMessage",
    run: after(() => chat().post(here(), { text: words, files: [], key: `k${turns}` })),
    says: words,
  },
  "the first words of a stream": {
    method: "chat.startStream",
    async run(refuse) {
      refuse();
      const stream = reply();
      await stream.write("What must not");
      await stream.finish(words, []);
    },
    says: words,
  },
  "more words of a stream": { method: "chat.appendStream", run: streamed, says: words },
  "the end of a stream": { method: "chat.stopStream", run: streamed, says: words },
  "the end of an edited answer": { method: "chat.update", run: updated, says: words },
  "a tool's reaction": { method: "reactions.add", run: after(() => chat().react(here(), message.id, "👀")) },
  "a direct message": {
    method: "conversations.open",
    run: after(() => world.platform.reach.direct(message.author.id)),
  },
  "who is there": {
    method: "conversations.members",
    run: after(() => world.platform.reach.people([`U0NEW${turns}`], message.conversationId)),
  },
  "the history for a tool": { method: "conversations.replies", run: after(() => chat().history(here(), { limit: 5 })) },
};

const shown = () =>
  [...world.slack.state.channels.values()]
    .flatMap((channel) => world.slack.see({ in: channel }))
    .filter(({ isAgents }) => isAgents)
    .map(({ readable }) => readable);

describe.each(Object.entries(callers))("%s", (_, { method, run, says }) => {
  const mine = [...shareOf(errorsOf(method), sharesOf), unknown];

  test.each(mine)(`is not lost, and nobody reads a name, when ${method} answers %s`, async (error) => {
    turns += 1;
    const [calls, before] = [world.slack.callsOf(method).length, shown().length];
    const refuse = () => world.slack.failNext(method, { type: "error", error });
    const rejected = await run(refuse).then(
      () => undefined,
      (thrown: unknown) => thrown as { code: string; plain: string },
    );
    const said = shown().slice(before);
    if (rejected === undefined && says !== undefined) expect(said.join("\n")).toContain(says);
    if (rejected !== undefined && says !== undefined && method !== "chat.postMessage")
      expect(away).toContain(rejected.code);
    expect([...said, rejected?.plain ?? ""].join("\n")).not.toContain(error);
    expect(world.slack.callsOf(method).length - calls).toBeLessThanOrEqual(maxCalls);
  });
});
