/** The log of what people say in channels, with its real thread and file. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { searchThread } from "../../src/app/search-thread.ts";
import {
  type ChatLogOptions,
  createChatLog,
  type StoredChatLog,
  switchedOffChatLog,
} from "../../src/chat-log/chat-log.ts";
import type { LogQuery } from "../../src/chat-log/message-index.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createRedactor } from "../../src/lib/redact.ts";
import type { Bus } from "../../src/ports/cluster.ts";
import type { InboundMessage } from "../../src/ports/message.ts";
import { createInMemoryBus } from "../../src/storage/in-memory-cluster.ts";

const noon = Date.UTC(2026, 10, 22, 12);
const dayMs = 86_400_000;

let root: string;
let bus: Bus;
let warnings: string[];
let opened: StoredChatLog[];
let chatLog: StoredChatLog;

function open(changes: Partial<ChatLogOptions> = {}): StoredChatLog {
  const log = createChatLog({
    thread: searchThread,
    ...{ file: join(root, "chat-log.db"), retentionDays: 90, megabytes: 500, exclude: [], bus, now: () => noon },
    redact: createRedactor(["a-very-secret-value"]),
    nameOf: async (_platform, id) => id,
    log: { ...silentLog, warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`) },
    ...changes,
  });
  opened.push(log);
  return log;
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "remora-chat-log-"));
  bus = createInMemoryBus(silentLog);
  [warnings, opened] = [[], []];
  chatLog = open();
});
afterEach(async () => {
  for (const log of opened) await log.close();
  rmSync(root, { recursive: true, force: true });
});

let count = 0;
function said(text: string, changes: Partial<InboundMessage> = {}): InboundMessage {
  const id = `m${++count}`;
  return {
    ...{ id, platform: "slack", conversationId: `slack:T1:C1:${id}`, scope: "channel:C1", text, at: noon },
    author: { id: "U2", name: "Ben", isBot: false, roles: [] },
    ...{ attachments: [], isAddressed: false, isDirect: false, link: `https://chat.example/${id}` },
    ...changes,
  };
}

async function find(text: string, changes: Partial<LogQuery> = {}, log = chatLog): Promise<string[]> {
  const found = await log.find({ platform: "slack", channels: ["C1"], text, limit: 10, ...changes });
  return found.map((message) => message.text);
}

const ann = { id: "U1", name: "Ann", isBot: false, roles: [] };

describe("finding", () => {
  test("returns author, channel, time and link; messages with all words come before those with some", async () => {
    chatLog.add(said("the staging disk is full"));
    chatLog.add(said("the staging password"));
    chatLog.add(said("the password of the staging disk rotates"));
    expect(await find("staging password")).toEqual([
      "the staging password",
      "the password of the staging disk rotates",
      "the staging disk is full",
    ]);
    const [first] = await chatLog.find({ platform: "slack", channels: ["C1"], text: "rotated", limit: 1 });
    expect(first).toMatchObject({ platform: "slack", channelId: "C1", author: { id: "U2", name: "Ben" }, at: noon });
    expect(first?.link).toMatch(/^https:\/\/chat\.example\/m\d+$/);
  });

  test("finds scripts without spaces, other forms of a word, and accents or not", async () => {
    for (const text of ["東京都の会議は金曜日", "ประชุมวันศุกร์", "we met at the café"]) chatLog.add(said(text));
    expect(await find("会議")).toEqual(["東京都の会議は金曜日"]);
    expect(await find("วันศุกร์")).toEqual(["ประชุมวันศุกร์"]);
    expect(await find("meeting at a cafe")).toContain("we met at the café");
  });

  test("narrows by author, by name, id or mention, and by time", async () => {
    chatLog.add(said("axolotl one", { author: ann, at: noon - 3 * dayMs }));
    chatLog.add(said("axolotl two", { author: { ...ann, id: "U3", name: "Anna Berg" }, at: noon - 2 * dayMs }));
    chatLog.add(said("axolotl three", { at: noon - dayMs }));
    for (const author of ["Ann", "@ann", "U1", "<@U1>"])
      expect(await find("axolotl", { author })).toEqual(["axolotl one"]);
    expect(await find("axolotl", { author: "berg" })).toEqual(["axolotl two"]);
    expect(await find("axolotl", { author: "Zoe" })).toEqual([]);
    expect(await find("axolotl", { after: noon - 2 * dayMs, before: noon - dayMs })).toEqual(["axolotl two"]);
  });

  test("without words lists the newest, and never fails because of the words", async () => {
    chatLog.add(said("old", { at: noon - 1_000 }));
    chatLog.add(said("new"));
    expect(await find("")).toEqual(["new", "old"]);
    expect(await find("", { author: "Zoe" })).toEqual([]);
    for (const text of [
      '"',
      "AND OR NOT",
      "body : x",
      "*",
      "c1",
      "p1 OR place : c2",
      "\u0000",
      "👍",
      "x".repeat(10_000),
    ])
      expect(Array.isArray(await find(text))).toBe(true);
    expect(await find("old", { limit: 0 })).toEqual([]);
    expect(await find("old", { channels: [] })).toEqual([]);
  });
});

describe("what is in it", () => {
  test("never a message of a DM, a group DM, a private thread or an excluded channel, nor one without words", async () => {
    const log = open({ file: join(root, "other.db"), exclude: ["slack:C9"] });
    log.add(said("wombat", { isDirect: true, scope: "dm:U2" }));
    log.add(said("wombat", { isPrivate: true }));
    log.add(said("wombat", { scope: "channel:C9" }));
    log.add(said("  "));
    log.add(said("fine"));
    expect(await find("", { channels: ["C1", "C9", "U2"] }, log)).toEqual(["fine"]);
  });

  test("each message once; edits and deletions change it, in order, also before it is written", async () => {
    const message = said("the okapi launch is on Tuesday");
    chatLog.add(message);
    chatLog.add(message);
    chatLog.edit("slack", message.id, "the okapi launch is on Friday");
    expect(await find("okapi")).toEqual(["the okapi launch is on Friday"]);
    expect(await find("Tuesday")).toEqual([]);
    chatLog.remove("slack", message.id);
    chatLog.add(message);
    chatLog.edit("slack", message.id, "okapi again");
    expect(await find("okapi")).toEqual([]);
  });

  test("no secret of the configuration, and no endless text", async () => {
    chatLog.add(said(`the token is a-very-secret-value ${"x".repeat(50_000)}`));
    const [text = ""] = await find("token");
    expect(text).not.toContain("a-very-secret-value");
    expect(text.length).toBeLessThan(10_000);
  });

  test("the names of people that came only as ids, asked for once", async () => {
    const asked: string[] = [];
    const nameOf = async (_platform: string, id: string) => {
      asked.push(id);
      return "Carla Chen";
    };
    const log = open({ file: join(root, "other.db"), nameOf });
    const carla = { id: "U7", name: "U7", isBot: false, roles: [] };
    log.add(said("first words", { author: carla }));
    await find("words", {}, log);
    log.add(said("more words", { author: carla }));
    await expect.poll(() => find("words", { author: "carla" }, log)).toHaveLength(2);
    expect(asked).toEqual(["U7"]);
  });

  test("everything after a restart", async () => {
    chatLog.add(said("the quokka"));
    await chatLog.close();
    expect(await find("quokka", {}, open())).toEqual(["the quokka"]);
  });
});

describe("what leaves it", () => {
  test("old messages, and the oldest if there are too many", async () => {
    chatLog.add(said("quokka of spring", { at: noon - 91 * dayMs }));
    chatLog.add(said("quokka of autumn", { at: noon - 89 * dayMs }));
    await find("quokka");
    await chatLog.prune();
    expect(await find("quokka")).toEqual(["quokka of autumn"]);

    const small = open({ file: join(root, "small.db"), megabytes: 1 });
    for (let index = 0; index < 4_000; index++)
      small.add(said(`numbat ${index} ${"of the long and windy road ".repeat(10)}`, { at: noon - 10_000 + index }));
    const found = await small.find({ platform: "slack", channels: ["C1"], text: "numbat", limit: 5_000 });
    expect(found).toHaveLength(4_000);
    await small.prune();
    const left = await small.find({ platform: "slack", channels: ["C1"], text: "", limit: 5_000 });
    expect(left.length).toBeLessThan(4_000);
    expect(left[0]?.text).toContain("numbat 3999");
  });

  test("a person's messages when they are forgotten, and a channel's, without a trace in the file", async () => {
    chatLog.add(said("the xylophone secret of Ben"));
    chatLog.add(said("the xylophone lesson", { author: ann }));
    chatLog.add(said("the xylophone elsewhere", { scope: "channel:C2", author: ann }));
    expect(await chatLog.ofPerson("slack", "U2")).toMatchObject([{ text: "the xylophone secret of Ben" }]);
    await chatLog.forget({ platform: "slack", userId: "U2" });
    expect(await find("xylophone", { channels: ["C1", "C2"] })).toEqual([
      "the xylophone lesson",
      "the xylophone elsewhere",
    ]);
    expect(await chatLog.ofPerson("slack", "U2")).toEqual([]);
    await chatLog.forget({ platform: "slack", channelId: "C2" });
    expect(await find("xylophone", { channels: ["C1", "C2"] })).toEqual(["the xylophone lesson"]);
    await chatLog.close();
    expect(readFileSync(join(root, "chat-log.db")).includes("secret of Ben")).toBe(false);
  });

  test("all of it when the operator switches it off", async () => {
    chatLog.add(said("the quokka"));
    await chatLog.close();
    const off = switchedOffChatLog(join(root, "chat-log.db"));
    off.add(said("the quokka"));
    expect(await find("quokka", {}, off)).toEqual([]);
    expect(existsSync(join(root, "chat-log.db"))).toBe(false);
  });
});

describe("several processes", () => {
  test("each finds what another one heard, and what is deleted or forgotten in one is gone in all", async () => {
    const other = open({ file: join(root, "other.db") });
    const message = said("the capybara bus");
    chatLog.add(message);
    chatLog.add(said("the capybara pool", { author: ann }));
    expect(await find("capybara")).toHaveLength(2);
    expect(await find("capybara", {}, other)).toHaveLength(2);
    other.remove("slack", message.id);
    await find("capybara", {}, other);
    expect(await find("capybara")).toEqual(["the capybara pool"]);
    await other.forget({ platform: "slack", userId: "U1" });
    expect(await find("capybara")).toEqual([]);
  });

  test("a deletion that overtakes its message from another process still holds", async () => {
    const other = open({ file: join(root, "other.db") });
    const message = said("the capybara bus");
    other.remove("slack", message.id);
    await find("capybara", {}, other);
    chatLog.add(message);
    await find("capybara");
    expect(await find("capybara", {}, other)).toEqual([]);
  });
});

describe("failures", () => {
  test("a file that can't be used is reported, and messages are kept in memory", async () => {
    mkdirSync(join(root, "folder.db"));
    const log = open({ file: join(root, "folder.db") });
    log.add(said("the quokka"));
    expect(await find("quokka", {}, log)).toEqual(["the quokka"]);
    expect(warnings).toEqual([expect.stringContaining("keeps it in memory")]);
  });

  test("a name that can't be found out does no harm, and after closing nothing does", async () => {
    const log = open({ file: join(root, "other.db"), nameOf: () => Promise.reject(new Error("no")) });
    log.add(said("the quokka", { author: { id: "U7", name: "U7", isBot: false, roles: [] } }));
    expect(await find("quokka", {}, log)).toEqual(["the quokka"]);
    await log.close();
    log.add(said("late"));
    await log.close();
    expect(warnings).toEqual([]);
  });
});
