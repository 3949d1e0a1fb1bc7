/** What tools read and write in the local chat: what counts as said, page by page, and who sees what. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLocalChatActions } from "../../../src/platforms/local/chat-actions.ts";
import { agent, type ChatMessage } from "../../../src/platforms/local/chat-message.ts";
import { type ChatStore, createChatStore } from "../../../src/platforms/local/chat-store.ts";
import type { ChatPlace } from "../../../src/ports/chat.ts";
import type { Scope } from "../../../src/ports/message.ts";

let folder: string;
let store: ChatStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-chat-"));
  store = createChatStore(join(folder, "chat.sqlite"));
  for (const name of ["general", "random"]) store.channels.add(name);
});
afterEach(async () => {
  store.close();
  await rm(folder, { recursive: true, force: true });
});

const chat = () => createLocalChatActions(store);
const requester = (id: string) => ({ id, name: id, isBot: false, roles: [] });
const at = (conversationId: string, person = "ann", channel?: string): ChatPlace => ({
  conversationId,
  requester: requester(person),
  ...(channel === undefined ? {} : { channel }),
});

async function put(id: string, place: Scope, more: Partial<ChatMessage> = {}): Promise<void> {
  const author = { id: "ann", name: "Ann", isBot: false };
  const state: ChatMessage["state"] = "done";
  const said = { type: "message" as const, thread: null, text: id, at: 0, isAddressed: false, isDeleted: false };
  await store.insert({ ...{ id, place, author, state, activity: "", files: [] }, ...said, ...more }, true);
}

async function idsOf(place: ChatPlace, options: { limit: number; before?: string }): Promise<string[]> {
  return (await chat().history(place, options)).map(({ id }) => id);
}

describe("the history of a place", () => {
  test("leaves out what is still being written, cards, receipts and what was deleted, and still gives as many as asked for", async () => {
    await put("first", "dm:ann");
    await put("second", "dm:ann");
    for (let index = 0; index < 150; index += 1) await put(`card-${index}`, "dm:ann", { type: "card", author: agent });
    await put("receipt", "dm:ann", { type: "receipt", onlyFor: "ann" });
    await put("deleted", "dm:ann", { isDeleted: true });
    await put("third", "dm:ann");
    await put("answer", "dm:ann", { author: agent, state: "streaming", text: "" });
    expect(await idsOf(at("local:dm:ann"), { limit: 1 })).toEqual(["third"]);
    expect(await idsOf(at("local:dm:ann"), { limit: 2 })).toEqual(["second", "third"]);
    expect(await idsOf(at("local:dm:ann"), { limit: 9 })).toEqual(["first", "second", "third"]);
  });

  test("goes back from a message, over any number of pages", async () => {
    const all = Array.from({ length: 230 }, (_, index) => `message-${index}`);
    for (const id of all) await put(id, "channel:general");
    const place = at("local:channel:random:any", "ann", "#general");
    const found: string[] = [];
    for (let before: string | undefined; ; before = found[0]) {
      const page = await idsOf(place, { limit: 70, ...(before === undefined ? {} : { before }) });
      if (page.length === 0) break;
      found.unshift(...page);
    }
    expect(found).toEqual(all);
  });

  test("counts as replies what was said in the thread", async () => {
    await put("root", "channel:general");
    await put("reply", "channel:general", { thread: "root" });
    await put("card", "channel:general", { thread: "root", type: "card", author: agent });
    await put("answer", "channel:general", { thread: "root", author: agent, state: "streaming", text: "" });
    const place = at("local:channel:random:any", "ann", "#general");
    expect(await chat().history(place, { limit: 1 })).toMatchObject([{ id: "root", replies: 1 }]);
  });

  test("of a thread is the thread's alone", async () => {
    await put("root", "channel:general");
    await put("reply", "channel:general", { thread: "root" });
    await put("other", "channel:general");
    expect(await idsOf(at("local:channel:general:root"), { limit: 10 })).toEqual(["root", "reply"]);
  });
});

test("the files of a message can be opened, unless the message is another place's or another person's", async () => {
  const files = [{ id: "f.0", name: "plan.pdf", mimeType: "application/pdf", bytes: 7 }];
  await put("plan", "channel:general", { files });
  await put("private", "channel:general", { files, onlyFor: "ben" });
  const place = at("local:channel:general:any");
  const { id, ...described } = files[0] ?? { id: "" };
  expect(await chat().files?.(place, "plan")).toEqual([{ ...described, source: { file: id } }]);
  for (const work of [
    () => chat().files?.(place, "private"),
    () => chat().files?.(place, "nothing"),
    () => chat().files?.(at("local:channel:random:any"), "plan"),
  ])
    await expect(work()).rejects.toMatchObject({ code: "platform.no-access" });
});

describe("what a person can't reach", () => {
  test.each(["#secret", "dm:ben", "channel:general", "general/../random", "__proto__", ""])(
    "channel %j",
    async (channel) => {
      const refused = { code: "platform.no-access" };
      await expect(chat().history(at("local:dm:ann", "ann", channel), { limit: 5 })).rejects.toMatchObject(refused);
      const post = { text: "x", files: [], key: "k" };
      await expect(chat().post(at("local:dm:ann", "ann", channel), post)).rejects.toMatchObject(refused);
    },
  );

  test("a DM of another, also when the place is named by it, or by one of its messages", async () => {
    await put("private", "dm:ben");
    expect(await idsOf(at("local:dm:ben", "ann"), { limit: 5 })).toEqual([]);
    await expect(chat().history(at("local:dm:ann"), { limit: 5, before: "private" })).rejects.toThrow(
      "no message private",
    );
    const thread = { messageId: "private", name: "x", text: "x", key: "k" };
    await expect(chat().openThread(at("local:dm:ann", "ann", "#general"), thread)).rejects.toThrow(
      "no message private",
    );
  });
});

test("the same post again is one message", async () => {
  const post = { text: "once", files: [], key: "turn-call" };
  const place = at("local:dm:ann", "ann", "#random");
  expect(await chat().post(place, post)).toEqual(await chat().post(place, post));
  expect(await idsOf(place, { limit: 5 })).toHaveLength(1);
});
