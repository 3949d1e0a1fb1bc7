import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { type ChatStore, createChatStore } from "../../../src/platforms/local/chat-store.ts";
import { createLocalReply } from "../../../src/platforms/local/reply.ts";
import type { ApprovalCard } from "../../../src/ports/card.ts";
import type { Posts } from "../../../src/ports/platform.ts";
import { createPosts } from "../../conformance/platform-world.ts";

const openReplies = new Set<Posts>();
let store: ChatStore;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  store = createChatStore(":memory:");
});
afterEach(() => {
  store.close();
  vi.useRealTimers();
});

function replyTo(turnId: string) {
  const target = { platform: "local", conversationId: "local:dm:ann", turnId, messageId: "m" };
  return createLocalReply({ store, target, posts: createPosts(), isOpen: () => true, openReplies, log: silentLog });
}

const shown = (turnId: string) => store.get(`r.${turnId}.text.0`)?.text;

test("an answer is updated every 50 ms, less often while many others are, and its end is shown at once", async () => {
  const alone = replyTo("alone");
  await alone.write("one");
  await alone.write("one two");
  expect(shown("alone")).toBe("one");
  await vi.advanceTimersByTimeAsync(50);
  expect(shown("alone")).toBe("one two");

  const others = await Promise.all(
    Array.from({ length: 19 }, async (_, number) => {
      const reply = replyTo(`other${number}`);
      await reply.write("some text");
      return reply;
    }),
  );
  await vi.advanceTimersByTimeAsync(50);
  await alone.write("one two three");
  await alone.write("one two three four");
  await vi.advanceTimersByTimeAsync(100);
  expect(shown("alone")).toBe("one two");
  await vi.advanceTimersByTimeAsync(100);
  expect(shown("alone")).toBe("one two three four");

  const [left, parked, ...rest] = others;
  await Promise.all([left?.leave?.(), parked?.park(), ...rest.map((reply) => reply.finish("all of it", []))]);
  expect(shown("other7")).toBe("all of it");
  await vi.advanceTimersByTimeAsync(50);
  await alone.write("one two three four five");
  expect(shown("alone")).toBe("one two three four five");
  await alone.finish("all of it", []);
  expect(shown("alone")).toBe("all of it");
  expect(openReplies.size).toBe(0);
});

test("a quick answer needs no line of progress, and a slower one gets it after 50 ms", async () => {
  const written: string[] = [];
  store.onChange(({ activity, text }) => written.push(activity || text));
  const progress = { headline: "Thinking", tasks: [] };
  const quick = replyTo("quick");
  await quick.progress(progress);
  await quick.finish("Here it is.", []);
  expect(written).toEqual(["Here it is."]);
  const slow = replyTo("slow");
  await slow.progress(progress);
  await vi.advanceTimersByTimeAsync(50);
  expect(written).toEqual(["Here it is.", "Thinking"]);
  await slow.leave?.();
});

test("a card is settled even if its own write is not committed yet", async () => {
  const puts = vi.spyOn(store, "put");
  const reply = replyTo("t");
  const card: ApprovalCard = {
    id: "card-1",
    target: { platform: "local", conversationId: "local:dm:ann", turnId: "t", messageId: "m" },
    ...{ requesterName: "Ann", approversText: "Ann", expiresAt: null },
    items: [],
  };
  const asked = reply.ask(card);
  for (let turn = 0; turn < 100 && puts.mock.calls.length === 0; turn += 1) await undefined;
  expect(puts).toHaveBeenCalledTimes(1);
  await reply.settle?.({ ...card, approversText: "nobody" });
  await asked;
  expect(store.get("r.t.card.card-1")?.card?.approversText).toBe("nobody");
});

test("the last write of an abandoned reply is stored before another reply continues", async () => {
  const abandoned = replyTo("t");
  await abandoned.write("one");
  await abandoned.write("one two");
  vi.advanceTimersByTime(50);
  await abandoned.leave?.();
  expect(shown("t")).toBe("one two");
  await replyTo("t").finish("all of it", []);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(shown("t")).toBe("all of it");
});
