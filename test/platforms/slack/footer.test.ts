/** What is below an answer in Slack: part of the same message, absent from what is read back, and optional. */
import { afterEach, expect, test } from "vitest";
import type { AnswerFooter } from "../../../src/ports/answer-footer.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Reply } from "../../../src/ports/platform.ts";
import type { SeenMessage } from "../../doubles/slack/see.ts";
import { createTestAgent, replyTo } from "./agent.ts";
import { createSlackWorld, type SlackWorld, type WorldOptions } from "./world.ts";

let world: SlackWorld;
let message: InboundMessage;
afterEach(() => world.close());

const footer: AnswerFooter = { turnId: "t1", line: "2 actions · 9 s", choices: ["details", "feedback"] };
const edits: WorldOptions = { changes: { streaming: "edits" } };

async function mentioned(options: WorldOptions = {}): Promise<Reply> {
  world = await createSlackWorld(options);
  const { slack, platform } = world;
  const agent = createTestAgent();
  await platform.connect(agent.handlers, new AbortController().signal);
  await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" }).acknowledged();
  message = agent.kept[0] ?? expect.fail();
  return replyTo(platform, message);
}

function agents(): SeenMessage[] {
  const { slack } = world;
  return slack.see({ in: slack.general }).filter((each) => each.isAgents);
}

test.each([
  ["a stream", {}],
  ["an edited message", edits],
])("it ends %s, in the same message", async (_name, options) => {
  const reply = await mentioned(options);
  await reply.write("The answer");
  await reply.finish("The answer.", [], footer);
  expect(agents().map(({ readable }) => readable)).toEqual(["The answer.\n2 actions · 9 s\nDetails\n👍\n👎"]);
});

test("where Slack refuses feedback buttons, the answer has the rest, and later ones don't try again", async () => {
  const reply = await mentioned(edits);
  world.slack.failNext("chat.postMessage", { type: "error", error: "invalid_blocks" });
  await reply.finish("One.", [], footer);
  expect(agents().map(({ readable }) => readable)).toEqual(["One.\n2 actions · 9 s\nDetails"]);
  await replyTo(world.platform, { ...message, id: `${message.id}` }).finish("Two.", [], footer);
  expect(agents().at(-1)?.readable).toBe("Two.\n2 actions · 9 s\nDetails");
});

test("what is read back is the answer alone", async () => {
  const reply = await mentioned();
  await reply.finish("The answer.", [], footer);
  const place = { conversationId: message.conversationId, requester: message.author };
  const lines = await world.platform.chat?.history(place, { limit: 10 });
  expect(lines?.map(({ text }) => text)).toContain("The answer.");
  expect(JSON.stringify(lines)).not.toContain("▸");
});

test("only people who can read the channel now may read its records", async () => {
  await mentioned();
  const { slack, platform } = world;
  const closed = slack.workspace.addChannel({ name: "closed", members: [slack.ben], isPrivate: true });
  const person = (id: string) => ({ id, name: id, isBot: false, roles: [] });
  const team = message.conversationId.split(":")[1];
  const inClosed = `slack:${team}:${closed.id}:1700000000.000100`;
  expect(await platform.mayRead?.(message.conversationId, person(slack.ben.id))).toBe(true);
  expect(await platform.mayRead?.(inClosed, person(slack.ben.id))).toBe(true);
  expect(await platform.mayRead?.(inClosed, person(slack.ann.id))).toBe(false);
});
