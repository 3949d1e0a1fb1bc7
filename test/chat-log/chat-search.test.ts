/** The search of one requester: only channels that they see, merged with the service's own search, never more. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createChatSearch } from "../../src/chat-log/chat-search.ts";
import { createMessageIndex } from "../../src/chat-log/message-index.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { ChatActions, ChatQuery } from "../../src/ports/chat.ts";
import type { ChatLogChange, LoggedMessage } from "../../src/ports/chat-log.ts";

const ann = { id: "U1", name: "Ann", isBot: false, roles: [] };
const turn = { messages: [], target: { platform: "slack", conversationId: "c", turnId: "t", messageId: "m" } };
const place = { conversationId: "c", requester: ann };

function message(id: string, changes: Partial<LoggedMessage> = {}): LoggedMessage {
  const author = { id: "U2", name: "Ben" };
  return {
    platform: "slack",
    id,
    channelId: "C1",
    author,
    text: `text of ${id}`,
    at: 1_000,
    link: `link:${id}`,
    ...changes,
  };
}

function resultOf(...[chat, logged, options]: Parameters<typeof searching>) {
  return whole(chat, logged, options)({});
}

function searching(...[chat, logged, options]: Parameters<typeof whole>) {
  const search = whole(chat, logged, options);
  return async (query: Partial<ChatQuery> = {}, channel?: string) => (await search(query, channel)).lines;
}

function whole(
  chat: Partial<ChatActions>,
  logged: LoggedMessage[] = [],
  { isEnabled = true, excluded = "" }: { isEnabled?: boolean; excluded?: string } = {},
) {
  const isExcluded = (_platform: string, channelId: string) => channelId === excluded;
  const chatLog = { isEnabled, isExcluded, find: async () => logged };
  const search = createChatSearch({ chatLog, log: silentLog });
  const actions = {
    channels: async () => [{ id: "C1", name: "general", isOpenHere: true, isRestricted: false }],
    ...chat,
  } as ChatActions;
  return async (query: Partial<ChatQuery> = {}, channel?: string) => {
    const where = { ...place, ...(channel === undefined ? {} : { channel }) };
    return await search(turn, actions, where, { text: "x", limit: 10, ...query });
  };
}

test("if the platform can't tell what the requester sees, nothing is found", async () => {
  const problem = new RemoraError({ code: "slack.http", place: "slack", message: "is down", isRetryable: true });
  await expect(searching({ channels: () => Promise.reject(problem) }, [message("a")])()).rejects.toBe(problem);
  expect(await searching({ channels: async () => [] }, [message("a")])()).toEqual([]);
});

test("results of the log and of the service are merged without repeats, the log's text first", async () => {
  const search = async () => ({
    messages: [message("b", { text: "older text" }), message("d"), message("hidden", { channelId: "C2" })],
    others: [],
  });
  const found = await searching({ search }, [message("a"), message("b")])();
  expect(found.map(({ id, text }) => `${id}: ${text}`)).toEqual(["a: text of a", "b: text of b", "d: text of d"]);
  expect(found[0]).toEqual({ ...message("a"), platform: undefined, channelId: undefined, channel: "general" });
});

test("a failing service search leaves the log's results", async () => {
  const search = () => Promise.reject(new Error("ratelimited"));
  expect(await searching({ search }, [message("a")])()).toHaveLength(1);
});

test("the request itself, excluded channels, and other times are left out", async () => {
  const messages = [message("a"), message("late", { at: 9_000 })];
  expect(await searching({}, messages)({ after: 500, before: 2_000 })).toHaveLength(1);
  expect(await searching({}, messages, { excluded: "C1" })()).toEqual([]);
});

test("a channel is found by name, id or mention, and refused if it is not visible", async () => {
  for (const name of ["#general", "General", "C1", "<#C1|general>"])
    expect(await searching({}, [message("a")])({}, name)).toHaveLength(1);
  await expect(searching({}, [message("a")])({}, "#secret")).rejects.toMatchObject({ code: "platform.no-access" });
});

test("names and marks are completed by the platform, and a failure to do so shows them as they are", async () => {
  const author = { id: "U7", name: "U7" };
  const nameOf = async () => "Carla";
  const readable = async (text: string) => text.replace("<@U7>", "@Carla");
  const unnamed = [message("a", { author, text: "ask <@U7>" })];
  expect(await searching({ nameOf, readable }, unnamed)()).toMatchObject([
    { author: { name: "Carla" }, text: "ask @Carla" },
  ]);
  const broken = { nameOf: () => Promise.reject(new Error("no")), readable: () => Promise.reject(new Error("no")) };
  expect(await searching(broken, unnamed)()).toMatchObject([{ author: { name: "U7" }, text: "ask <@U7>" }]);
});

test("if the service does not search, or not everything, the answer says why and what may be missing", async () => {
  const notice = "Slack is tired";
  for (const [isEnabled, words] of [
    [true, "Slack is tired, so what people said before I came to a channel may be missing."],
    [false, "Slack is tired, so much may be missing: I keep no record of my own here."],
  ] as const) {
    const chat = { search: async () => ({ messages: [], others: [], notice }) };
    expect((await resultOf(chat, [], { isEnabled })).notice).toContain(words);
  }
  const failing = { search: () => Promise.reject(new Error("no")) };
  expect(await resultOf(failing, [message("a")])).toMatchObject({
    lines: [{ id: "a" }],
    isEphemeral: false,
    notice: expect.stringContaining("did not work just now, so what people said before"),
  });
});

test("what only the service has found may not be stored, and its other channels count only where all readers can read them", async () => {
  const open = { id: "C7", name: "tanks", isOpenHere: true, isRestricted: false };
  const closed = { ...open, id: "C8", isOpenHere: false };
  const messages = [message("b"), message("d", { channelId: "C7" }), message("e", { channelId: "C8" })];
  const search = async () => ({ messages, others: [open, closed] });
  const found = await resultOf({ search }, [message("b")]);
  expect(found.lines.map(({ id, channel }) => [id, channel])).toEqual([
    ["b", "general"],
    ["d", "tanks"],
  ]);
  expect(found).toMatchObject({ isEphemeral: true, closed: [closed] });
  const known = async () => ({ messages: [message("b")], others: [] });
  expect(await resultOf({ search: known }, [message("b")])).toMatchObject({ isEphemeral: false });
});

test("switched off, it says so, unless the service has a search of its own", async () => {
  await expect(searching({}, [], { isEnabled: false })()).rejects.toMatchObject({ code: "chat-log.off" });
  expect(
    await searching({ search: async () => ({ messages: [message("a")], others: [] }) }, [], { isEnabled: false })(),
  ).toHaveLength(1);
});

describe("whatever people say and somebody asks", () => {
  const words = fc.constantFrom("red", "green", "launch", "会議", "c1", "p1", "place", "OR", '"', "NEAR(", "👍", "*");
  const sentence = fc.array(words, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(" "));
  const channel = fc.constantFrom("C1", "C2", "C3", "C4");
  const person = fc.constantFrom("U1", "U2", "U3");
  const id = fc.integer({ min: 0, max: 12 }).map((number) => `m${number}`);
  const change: fc.Arbitrary<ChatLogChange> = fc.oneof(
    fc.record({
      ...{
        type: fc.constant("add" as const),
        platform: fc.constant("slack"),
        id,
        channelId: channel,
        authorId: person,
      },
      ...{ authorName: fc.constant("Somebody"), text: sentence, at: fc.integer({ min: 1, max: 1_000 }), link: id },
    }),
    fc.record({ type: fc.constant("edit" as const), platform: fc.constant("slack"), id, text: sentence }),
    fc.record({ type: fc.constant("remove" as const), platform: fc.constant("slack"), id, at: fc.constant(1) }),
    fc.record({
      type: fc.constant("forget" as const),
      owner: fc.oneof(
        fc.record({ platform: fc.constant("slack"), userId: person }),
        fc.record({ platform: fc.constant("slack"), channelId: channel }),
      ),
    }),
  );

  /** What is there after the changes, in plain JavaScript. */
  function expected(changes: readonly ChatLogChange[]): Map<string, { channelId: string; text: string }> {
    const there = new Map<string, { channelId: string; authorId: string; text: string }>();
    const removed = new Set<string>();
    for (const one of changes) {
      if (one.type === "add" && !there.has(one.id) && !removed.has(one.id)) there.set(one.id, one);
      const known = one.type === "edit" ? there.get(one.id) : undefined;
      if (one.type === "edit" && known !== undefined) there.set(one.id, { ...known, text: one.text });
      if (one.type === "remove" && removed.add(one.id)) there.delete(one.id);
      if (one.type !== "forget") continue;
      const { owner } = one;
      for (const [key, { authorId, channelId }] of there)
        if ("userId" in owner ? authorId === owner.userId : channelId === owner.channelId) there.delete(key);
    }
    return there;
  }

  test("results are only of the given channels, exist, and a search without words finds all of these", () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 40 }),
        fc.uniqueArray(channel).map((ids): string[] => ids),
        sentence,
        fc.option(person, { nil: undefined }),
        (changes, channels, text, author) => {
          const index = createMessageIndex(":memory:", () => {});
          try {
            index.apply(changes);
            const there = expected(changes);
            const by = author === undefined ? {} : { author };
            for (const found of index.find({ platform: "slack", channels, text, limit: 50, ...by })) {
              expect(channels).toContain(found.channelId);
              expect(there.get(found.id)).toMatchObject({ channelId: found.channelId, text: found.text });
              if (author !== undefined) expect(found.author.id).toBe(author);
            }
            const all = index.find({ platform: "slack", channels, text: "", limit: 50 }).map((found) => found.id);
            const visible = [...there].filter(([, { channelId }]) => channels.includes(channelId)).map(([key]) => key);
            expect(all.toSorted()).toEqual(visible.toSorted());
            expect(index.find({ platform: "discord", channels, text, limit: 50 })).toEqual([]);
          } finally {
            index.close();
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
