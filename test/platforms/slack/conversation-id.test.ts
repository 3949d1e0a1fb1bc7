import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatConversationId,
  formatMessageId,
  parseConversationId,
  parseMessageId,
  placeOf,
  threadOf,
  timeOf,
} from "../../../src/platforms/slack/conversation-id.ts";

const idBody = fc.stringMatching(/^[A-Z0-9]{1,12}$/);
const teams = idBody.map((body) => `T${body}`);
const channels = fc.tuple(fc.constantFrom("C", "D", "G"), idBody).map((parts) => parts.join(""));
const timestamps = fc.stringMatching(/^[1-9]\d{9}\.\d{6}$/);

describe("conversation ids", () => {
  test("what is made is read again, and nothing else makes the same id", () => {
    const conversations = fc.record({ team: teams, channel: channels, thread: fc.option(timestamps) });
    fc.assert(
      fc.property(conversations, conversations, (one, other) => {
        expect(parseConversationId(formatConversationId(one))).toEqual(one);
        const isSame = formatConversationId(one) === formatConversationId(other);
        expect(isSame).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });

  test("what is not made here is nobody's: no text is read that would not be written the same", () => {
    const parts = fc.array(fc.oneof(teams, channels, timestamps, fc.constantFrom("", "slack", ":", "x")), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          parts.map((each) => `slack:${each.join(":")}`),
        ),
        (id) => {
          const parsed = parseConversationId(id);
          if (parsed !== undefined) expect(formatConversationId(parsed)).toBe(id);
        },
      ),
    );
  });

  test.each([
    "",
    "slack",
    "slack:nowhere",
    "slack:T1:U1",
    "slack:T1:C1:",
    "slack:T1:C1:now",
    "slack:T1:C1:1.000000:x",
    "local:T1:C1",
  ])("%j is no conversation", (id) => expect(parseConversationId(id)).toBeUndefined());
});

describe("message ids", () => {
  test("what is made is read again", () => {
    fc.assert(
      fc.property(channels, timestamps, (channel, ts) => {
        expect(parseMessageId(formatMessageId({ channel, ts }))).toEqual({ channel, ts });
      }),
    );
  });

  test("a message of a schedule is not in Slack", () => {
    expect(parseMessageId("schedule:ab12:1700000000000")).toBeUndefined();
  });
});

test("a DM is its person's, everything else its channel's", () => {
  const placeIn = (channel: string) => placeOf({ team: "T1", channel, thread: null }, "U1");
  expect(placeIn("D1").scope).toBe("dm:U1");
  expect(placeIn("C1").scope).toBe("channel:C1");
  expect(placeIn("G1").scope).toBe("channel:G1");
});

test("the first message of a thread is not in it", () => {
  expect(threadOf("1.000000", "1.000000")).toBeNull();
  expect(threadOf("2.000000", "1.000000")).toBe("1.000000");
  expect(threadOf("1.000000", undefined)).toBeNull();
});

test("a ts is seconds with a fraction", () => {
  expect(timeOf("1700000000.123456")).toBe(1_700_000_000_123);
});
