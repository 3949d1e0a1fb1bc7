/** Retry starts a failed request again: for its requester alone, once, and where nothing has happened yet. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createInbox } from "../../src/engine/conversation/inbox.ts";
import { createRetry } from "../../src/engine/conversation/retry-turn.ts";
import type { InboundMessage } from "../../src/ports/message.ts";
import { scheduleOf } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";

const ann = { id: "ann", name: "Ann", isBot: false, roles: [] };
let ledger: ReturnType<typeof createSqliteLedger>;
let accepted: InboundMessage[];

beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
  accepted = [];
});
afterEach(() => ledger.close());

async function retryOf(message: Partial<InboundMessage>, { isSafeToRetry = true, isAllowed = true } = {}) {
  const turn = turnRecord({ messages: [inboundMessage({ author: ann, ...message })] });
  await ledger.create("turn", turn.id, { state: "failed", body: turn, group: turn.conversationId });
  return createRetry({
    ledger,
    reports: { of: async () => ({ isSafeToRetry }) as never },
    barredBecause: async () => (isAllowed ? undefined : "you have left"),
    async accept(one) {
      const isNew = accepted.every(({ id }) => id !== one.id);
      if (isNew) accepted.push(one);
      return isNew;
    },
  });
}

test("the same id on another platform, somebody else, and a person who may not use the agent start nothing", async () => {
  const retry = await retryOf({});
  expect(await retry("t1", "other", ann)).toEqual({ accepted: false, text: "Only Ann can start this again." });
  expect(await retry("t1", "test", { ...ann, id: "ben" })).toMatchObject({ accepted: false });
  expect(await (await retryOf({}, { isAllowed: false }))("t1", "test", ann)).toMatchObject({ accepted: false });
  expect(await (await retryOf({}, { isSafeToRetry: false }))("t1", "test", ann)).toMatchObject({ accepted: false });
  expect(accepted).toEqual([]);
});

test("a request that is started again keeps the time zone in which it was asked", async () => {
  const asked = { author: { ...ann, timeZone: "Asia/Tokyo" } };
  await (await retryOf(asked))("t1", "test", { ...ann, name: "Ann B." });
  expect(accepted).toMatchObject([{ author: { name: "Ann B.", timeZone: "Asia/Tokyo" } }]);
});

test("two clicks start one request", async () => {
  const retry = await retryOf({});
  const answers = await Promise.all([retry("t1", "test", ann), retry("t1", "test", ann)]);
  expect(answers.map((one) => one.accepted).toSorted()).toEqual([false, true]);
  expect(accepted).toHaveLength(1);
});

test("a schedule's run that is started again counts in the budget of the schedule, also the time after that", async () => {
  const first = { id: "schedule:s1:1700000000000" };
  await (await retryOf(first))("t1", "test", ann);
  expect(accepted.map((message) => scheduleOf({ messages: [message] }))).toEqual(["s1"]);
  const [again] = accepted.splice(0);
  await ledger.close();
  ledger = createSqliteLedger({ path: ":memory:" });
  await (await retryOf(again ?? {}))("t1", "test", ann);
  expect(accepted.map((message) => scheduleOf({ messages: [message] }))).toEqual(["s1"]);
});

test("what is started again has the words as they were edited since, and nothing that was deleted", async () => {
  const inbox = createInbox(ledger);
  const message = inboundMessage({ author: ann, text: "book it for Friday" });
  await inbox.keep(message);
  await inbox.take([message]);
  await inbox.answered([message]);
  const retry = await retryOf(message);
  await inbox.edit("test:m1", "book it for Monday");
  await inbox.withdraw("test:m1");
  await inbox.edit("test:m1", "book it for Sunday");
  expect(await retry("t1", "test", ann)).toEqual({
    accepted: false,
    text: "Your message was deleted, so I can't start this again. Please ask again.",
  });
  const other = inboundMessage({ id: "m2", author: ann, text: "book it for Friday" });
  const turn = turnRecord({ id: "t2", messages: [other] });
  await ledger.create("turn", "t2", { state: "failed", body: turn, group: turn.conversationId });
  await inbox.keepAnswered(other);
  await inbox.edit("test:m2", "book it for Monday");
  await retry("t2", "test", ann);
  expect(accepted.map(({ text }) => text)).toEqual(["book it for Monday"]);
});
