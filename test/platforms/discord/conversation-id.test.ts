import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type DiscordConversation,
  formatConversationId,
  parseConversationId,
  placeOf,
} from "../../../src/platforms/discord/conversation-id.ts";

const snowflake = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }).map(String);
const conversation: fc.Arbitrary<DiscordConversation> = fc.oneof(
  fc.record({ type: fc.constant("dm" as const), channel: snowflake }),
  fc.record({
    type: fc.constant("guild" as const),
    guild: snowflake,
    channel: snowflake,
    thread: fc.option(snowflake),
  }),
);

test("an id reads back as the conversation it was made from", () => {
  fc.assert(
    fc.property(conversation, (each) => {
      expect(parseConversationId(formatConversationId(each))).toEqual(each);
    }),
  );
});

test("two conversations never share an id", () => {
  fc.assert(
    fc.property(conversation, conversation, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      expect(formatConversationId(one) === formatConversationId(other)).toBe(isSame);
    }),
  );
});

test("reading any text never throws, and takes only what formatting makes", () => {
  const part = fc.constantFrom("discord", "dm", ":", "1", "0", "007", "123456789012345678", "", "-1", "1.5", "nowhere");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(part, { maxLength: 7 }).map((each) => each.join(":")),
        fc.array(part, { maxLength: 9 }).map((each) => each.join("")),
      ),
      (text) => {
        const parsed = parseConversationId(text);
        if (parsed !== undefined) expect(formatConversationId(parsed)).toBe(text);
      },
    ),
  );
});

test("the formats are those that ledgers and memory on disk hold", () => {
  expect(formatConversationId({ type: "dm", channel: "30" })).toBe("discord:dm:30");
  expect(formatConversationId({ type: "guild", guild: "10", channel: "20", thread: "40" })).toBe("discord:10:20:40");
  expect(formatConversationId({ type: "guild", guild: "10", channel: "20", thread: null })).toBe("discord:10:20");
});

test("a thread has its channel's scope, a private thread its own, a DM its person's", () => {
  const thread = { type: "guild", guild: "10", channel: "20", thread: "40" } as const;
  expect(placeOf(thread, "7", false).scope).toBe("channel:20");
  expect(placeOf(thread, "7", true)).toMatchObject({ scope: "channel:40", channelId: "20" });
  expect(placeOf({ type: "dm", channel: "30" }, "7", false).scope).toBe("dm:7");
});
