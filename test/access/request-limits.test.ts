import { expect, test } from "vitest";
import { createRequestLimits } from "../../src/access/request-limits.ts";
import { inboundMessage } from "../doubles/records.ts";

const start = 1_700_000_000_000;

function setUp(user: number | null, channel: number | null) {
  const clock = { now: start };
  const rates = { userRequestsPerMinute: user, channelRequestsPerMinute: channel };
  const limits = createRequestLimits(rates, () => clock.now);
  let ids = 0;
  const ask = (who = "ann", changes: Parameters<typeof inboundMessage>[0] = {}) => {
    ids += 1;
    const place = changes.isDirect ? { scope: `dm:${who}` as const } : { channelId: "C1" };
    const author = { id: who, name: who, isBot: false, roles: [] };
    return limits.admit(
      inboundMessage({ id: `m${ids}`, platform: "slack", ...place, author, at: clock.now, ...changes }),
    );
  };
  return { clock, rates, ask };
}

test("a person is told once, kindly, and can go on a minute later", () => {
  const { clock, ask } = setUp(3, null);
  expect([ask(), ask(), ask()].map(({ type }) => type)).toEqual(["admitted", "admitted", "admitted"]);
  clock.now += 20_000;
  expect(ask()).toEqual({
    type: "limited",
    why: "more than 3 requests a minute from one person",
    notice: {
      text: "That's a lot at once. I take 3 requests a minute from one person, so I left this one out. Please send it again in 40 seconds.",
    },
  });
  expect(ask()).toEqual({ type: "limited", why: "more than 3 requests a minute from one person" });
  expect(ask("ben").type).toBe("admitted");
  clock.now += 40_000;
  expect(ask().type).toBe("admitted");
});

test("a channel has a limit for everyone together, and direct messages count only for their person", () => {
  const { ask } = setUp(null, 2);
  expect([ask("ann"), ask("ben"), ask("carl")].map(({ type }) => type)).toEqual(["admitted", "admitted", "limited"]);
  expect(ask("carl", { channelId: "C2" }).type).toBe("admitted");
  const direct = { isDirect: true };
  expect([1, 2, 3].map(() => ask("dora", direct).type)).toEqual(["admitted", "admitted", "admitted"]);
});

test("each person is told, also if other people have used up the channel's limit", () => {
  const { ask } = setUp(null, 1);
  ask("ann");
  expect(["ben", "ben", "carl"].map((who) => "notice" in ask(who))).toEqual([true, false, true]);
});

test("a person who has been told in a channel is told in a direct message, too, and once for all threads of each", () => {
  const { ask } = setUp(1, null);
  ask();
  const told = (changes: Parameters<typeof ask>[1]) => "notice" in ask("ann", changes);
  expect([told({ conversationId: "slack:t1" }), told({ conversationId: "slack:t2" })]).toEqual([true, false]);
  const direct = (conversationId: string) => told({ isDirect: true, conversationId });
  expect([direct("slack:D1:t1"), direct("slack:D1:t2")]).toEqual([true, false]);
});

test("messages that were written over an hour and arrive together are no flood", () => {
  const { clock, ask } = setUp(2, 2);
  const minutes = Array.from({ length: 60 }, (_, minute) => start - minute * 61_000);
  expect(minutes.map((at) => ask("ann", { at }).type)).toEqual(minutes.map(() => "admitted"));
  clock.now += 1;
  expect(ask().type).toBe("admitted");
});

test("a message that is delivered twice counts once", () => {
  const { ask } = setUp(1, 1);
  expect(ask("ann", { id: "same" }).type).toBe("admitted");
  expect(ask("ann", { id: "same" }).type).toBe("admitted");
  expect(ask("ann").type).toBe("limited");
});

test("neither the page, nor schedules, nor a limit of null leave anything out", () => {
  const { rates, ask } = setUp(1, 1);
  for (let times = 0; times < 5; times += 1) {
    expect(ask("ann", { platform: "local" }).type).toBe("admitted");
    expect(ask("ann", { id: `schedule:s1:${times}` }).type).toBe("admitted");
  }
  ask();
  expect(ask().type).toBe("limited");
  Object.assign(rates, { userRequestsPerMinute: null, channelRequestsPerMinute: null });
  expect(ask().type).toBe("admitted");
});
