/** What is read of a thread or channel before a message on the page. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { agent, type ChatMessage } from "../../../src/platforms/local/chat-message.ts";
import { type ChatStore, createChatStore } from "../../../src/platforms/local/chat-store.ts";
import { createEarlier } from "../../../src/platforms/local/earlier.ts";
import type { EarlierWanted } from "../../../src/ports/earlier.ts";
import { inboundMessage } from "../../doubles/records.ts";

let folder: string;
let store: ChatStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-chat-"));
  store = createChatStore(join(folder, "chat.sqlite"));
});
afterEach(async () => {
  store.close();
  await rm(folder, { recursive: true, force: true });
});

async function put(id: string, more: Partial<ChatMessage> = {}): Promise<void> {
  const author = { id: "ben", name: "Ben", isBot: false };
  const place = "channel:general" as const;
  const state: ChatMessage["state"] = "done";
  const said = { type: "message" as const, thread: null, text: id, at: 1_000, isAddressed: false, isDeleted: false };
  await store.insert({ ...{ id, place, author, state, activity: "", files: [] }, ...said, ...more }, true);
}

const ann = { id: "ann", name: "Ann", isBot: false };

async function earlier(id: string, wanted: Partial<EarlierWanted> = {}) {
  const stored = store.get(id);
  const place = stored?.place ?? "channel:general";
  const thread = place.startsWith("dm:") ? "" : `:${stored?.thread ?? id}`;
  const conversationId = `local:${place}${thread}`;
  const message = inboundMessage({ id, platform: "local", conversationId, at: stored?.at ?? 0 });
  const limits = { maxMessages: 3, channelMessages: 2, channelMs: 600_000, said: stored?.text ?? "" };
  return await createEarlier(store)(message, { ...limits, ...wanted }, new AbortController().signal);
}

const read = async (...args: Parameters<typeof earlier>) =>
  (await earlier(...args)).lines.map(({ kind, id }) => `${kind} ${id}`);

test("a thread: the first message, the newest before the mention, and the number of the others", async () => {
  await put("root");
  for (const id of ["a", "b"]) await put(id, { thread: "root" });
  await put("card", { thread: "root", type: "card", author: agent });
  await put("deleted", { thread: "root", isDeleted: true });
  await put("own", { thread: "root", author: agent });
  await put("c", { thread: "root", files: [{ id: "f", name: "plan.pdf", mimeType: "application/pdf", bytes: 1 }] });
  await put("mention", { thread: "root", author: ann });
  await put("after", { thread: "root" });
  expect(await read("mention")).toEqual(["root root", "thread b", "thread own", "thread c"]);
  const { lines, leftOut } = await earlier("mention");
  expect(leftOut).toBe(1);
  expect(lines.map(({ isOwn }) => isOwn)).toEqual([false, false, true, false]);
  expect(lines.at(-1)?.files).toEqual(["plan.pdf"]);
  expect(await read("mention", { since: "own" })).toEqual(["thread c"]);
  expect(await read("mention", { after: 1_000 })).toEqual([]);
  expect(await read("mention", { maxMessages: 0 })).toEqual([]);
});

test("a thread of 5,000 messages is read only at its end", async () => {
  await put("root");
  for (let index = 1; index < 5_000; index++) await put(`m${index}`, { thread: "root" });
  await put("mention", { thread: "root", author: ann });
  const { lines, leftOut } = await earlier("mention", { maxMessages: 50 });
  expect(lines.at(-1)?.id).toBe("m4999");
  expect(lines).toHaveLength(51);
  expect(leftOut).toBe(4_949);
});

test("a channel: the last messages outside threads, not older than wanted, and only that channel", async () => {
  await put("old", { at: -700_000 });
  await put("elsewhere", { place: "channel:random" });
  await put("a");
  await put("reply", { thread: "a" });
  await put("receipt", { type: "receipt", onlyFor: "ann" });
  await put("mention", { author: ann });
  expect(await read("mention", { channelMessages: 5 })).toEqual(["channel a"]);
  expect(await read("mention", { channelMessages: 0 })).toEqual([]);
});

test("a DM brings nothing", async () => {
  await put("one", { place: "dm:ann", author: ann });
  await put("two", { place: "dm:ann", author: ann });
  expect(await read("two")).toEqual([]);
});

test("a link to a message of the same channel brings it; others, private and deleted ones don't", async () => {
  await put("a b");
  await put("elsewhere", { place: "channel:random" });
  await put("private", { type: "message", onlyFor: "ben" });
  await put("deleted", { isDeleted: true });
  const page = "http://127.0.0.1:4180/#";
  const text = [`${page}/general/a%20b`, `${page}/random/elsewhere`, `(${page}/general/private)`].join(" ");
  await put("mention", { author: ann, text });
  expect(await read("mention", { channelMessages: 0 })).toEqual(["linked a b"]);
  await put("second", { author: ann, text: `${page}/general/deleted ${page}/general/%E0%A4%A` });
  expect(await read("second", { channelMessages: 0 })).toEqual([]);
});
