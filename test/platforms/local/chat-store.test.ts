import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createChatFiles, filesSchema } from "../../../src/platforms/local/chat-files.ts";
import type { ChatMessage } from "../../../src/platforms/local/chat-message.ts";
import { createChatStore } from "../../../src/platforms/local/chat-store.ts";
import { anyCharacter } from "../../doubles/any-character.ts";

const isRoot = process.getuid?.() === 0;
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remora-chat-"));
  path = join(folder, "chat.sqlite");
});
afterEach(() => rmSync(folder, { recursive: true }));

function message(id: string, changes: Partial<ChatMessage> = {}): ChatMessage {
  return {
    ...{ id, type: "message", place: "channel:general", thread: null, text: id, at: 1, state: "done" },
    author: { id: "ann", name: "Ann", isBot: false },
    ...{ isAddressed: false, isDeleted: false, activity: "", files: [] },
    ...changes,
  };
}

test("what is not a chat is refused with what to do, and left as it is", () => {
  writeFileSync(path, "no database at all, but long enough to be looked at as one".repeat(40));
  expect(() => createChatStore(path)).toThrow(expect.objectContaining({ code: "local.chat-unreadable" }));
  rmSync(path);
  const newer = new DatabaseSync(path);
  newer.exec("PRAGMA user_version = 99");
  newer.close();
  expect(() => createChatStore(path)).toThrow(/newer Remora.*move the file away/);
});

test.skipIf(!isRoot)("on a full disk, nobody is told to move the chat away", () => {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "remora-test", folder]);
  try {
    expect(() => createChatStore(path)).toThrow(/disk is full. Free some space$/);
  } finally {
    execFileSync("umount", ["--lazy", folder]);
  }
});

test("two processes on one file never share a revision, and each sees what the other wrote", async () => {
  const [one, other] = [createChatStore(path), createChatStore(path)];
  for (let index = 0; index < 20; index++) await (index % 2 === 0 ? one : other).put(message(`m${index}`));
  const revisions = one.changes("ann", 0, 100).map((each) => each.revision);
  expect(new Set(revisions).size).toBe(20);
  expect(other.changes("ann", 0, 100).map((each) => each.id)).toEqual(
    one.changes("ann", 0, 100).map((each) => each.id),
  );
  one.close();
  other.close();
});

test("in any order of writes, the changes since any revision are the newest states, each once", async () => {
  const write = fc.record({ id: fc.constantFrom("a", "b", "c", "d"), text: fc.string({ unit: anyCharacter }) });
  await fc.assert(
    fc.asyncProperty(fc.array(write, { maxLength: 12 }), fc.nat(12), async (writes, seen) => {
      const store = createChatStore(":memory:");
      const newest = new Map<string, string>();
      const expected = new Map<string, string>();
      for (const [index, { id, text }] of writes.entries()) {
        await store.put(message(id, { text }));
        newest.set(id, text);
        if (index >= seen) expected.set(id, text);
      }
      const revision = Math.min(seen, writes.length);
      const changes = store.changes("ann", revision, 100);
      expect(new Map(changes.map((each) => [each.id, each.text]))).toEqual(
        new Map([...expected.keys()].map((id) => [id, newest.get(id)])),
      );
      expect(changes).toHaveLength(expected.size);
      store.close();
    }),
    { numRuns: 50 },
  );
});

test("a read by id sees uncommitted writes, and an upload belongs to an uncommitted message", async () => {
  const { files, ...store } = createChatStore(":memory:");
  const upload = files.beginUpload({ id: "upload-1", name: "a", mimeType: "text/plain", person: "ann" });
  const file = upload?.finish();
  const writes = [store.insert(message("root", { files: file === undefined ? [] : [file] }), false)];
  expect(files.uploaded("upload-1", "ann")).toBeUndefined();
  writes.push(store.insert(message("reply", { thread: "root", isAddressed: true }), true));
  expect(store.isAgentsThread("root")).toBe(true);
  writes.push(store.insert(message("reply-2", { thread: "root" }), false));
  expect(store.countReplies("root")).toBe(2);
  writes.push(store.insert(message("reply-3", { thread: "root" }), false));
  expect(store.thread("ann", "root", 9)).toHaveLength(4);
  const handedOver = store.markHandedOver("root");
  expect(store.isHandedOver("root")).toBe(true);
  const others = store.markHandedOver("reply-2");
  expect(store.notHandedOver().map(({ id }) => id)).toEqual(["reply-3"]);
  const put = store.put(message("root", { text: "changed" }));
  expect(store.get("root")).toMatchObject({ text: "changed", replies: 3 });
  expect(await Promise.all(writes)).toEqual([true, true, true, true]);
  await Promise.all([handedOver, others, put]);
  store.close();
});

test("pages of older messages have no gaps and no overlaps", async () => {
  const store = createChatStore(":memory:");
  for (let index = 0; index < 25; index++) await store.put(message(`m${index}`));
  const read: string[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = store.page("ann", "channel:general", before, 10);
    if (page.length === 0) break;
    read.unshift(...page.map((each) => each.id));
    before = page[0]?.sequence ?? 0;
  }
  expect(read).toEqual(Array.from({ length: 25 }, (_, index) => `m${index}`));
  store.close();
});

test("the message above a thread counts its replies and its open cards", async () => {
  const store = createChatStore(":memory:");
  await store.put(message("root"));
  await store.put(message("reply", { thread: "root", at: 5 }));
  await store.put(message("card", { thread: "root", at: 6, type: "card", state: "waiting" }));
  await store.put(message("private", { thread: "root", at: 9, onlyFor: "ann" }));
  expect(store.get("root")).toMatchObject({ replies: 2, waitingCards: 1, lastReplyAt: 6 });
  await store.put(message("card", { thread: "root", at: 6, type: "card", state: "done" }));
  expect(store.get("root")).toMatchObject({ replies: 2, waitingCards: 0 });
  expect(store.changes("ann", 0, 100).at(-1)?.id).toBe("root");
  store.close();
});

test("files of the version before pieces can still be read and deleted", () => {
  const old = new DatabaseSync(path);
  old.exec(`CREATE TABLE files (
      id TEXT PRIMARY KEY, name TEXT NOT NULL, mime_type TEXT NOT NULL, bytes INTEGER NOT NULL, content BLOB NOT NULL
    ) STRICT;
    INSERT INTO files VALUES ('m1.0', 'a.txt', 'text/plain', 5, CAST('alpha' AS BLOB));
    PRAGMA user_version = 1;`);
  old.close();
  const { files, close } = createChatStore(path);
  expect(files.get("m1.0")).toEqual({ id: "m1.0", name: "a.txt", mimeType: "text/plain", bytes: 5 });
  expect(Buffer.concat([...files.read("m1.0")]).toString()).toBe("alpha");
  files.remove(["m1.0"]);
  expect(files.get("m1.0")).toBeUndefined();
  close();
});

test("any content comes back as it was saved, in one piece or several", () => {
  const { files, close } = createChatStore(path);
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 400_000 }), { maxLength: 4 }), (sizes) => {
      const content = Buffer.concat(sizes.map((size, index) => Buffer.alloc(size, 65 + index)));
      const upload = files.beginUpload({ id: "upload-1", name: "a", mimeType: "text/plain", person: "ann" });
      for (const [index, size] of sizes.entries()) upload?.add(Buffer.alloc(size, 65 + index));
      expect(upload?.finish().bytes).toBe(content.length);
      expect(Buffer.concat([...files.read("upload-1")]).equals(content)).toBe(true);
      files.save({ id: "m1.0", name: "a", mimeType: "text/plain", bytes: content.length }, content);
      expect(Buffer.concat([...files.read("m1.0")]).equals(content)).toBe(true);
    }),
    { numRuns: 20 },
  );
  close();
});

test("uploads that no message gets are removed after a day, and the oldest when there are too many", () => {
  let now = 1_000;
  const database = new DatabaseSync(path);
  database.exec(filesSchema);
  const files = createChatFiles(database, () => now);
  const begin = (id: string) => {
    now += 1;
    const upload = files.beginUpload({ id, name: id, mimeType: "text/plain", person: "ann" });
    upload?.add(Buffer.from("content"));
    upload?.finish();
  };
  for (let index = 0; index < 102; index++) begin(`upload-${index}`);
  expect(files.uploaded("upload-0", "ann")).toBeUndefined();
  expect(files.uploaded("upload-50", "ann")).toBeDefined();
  now += 86_400_000;
  begin("upload-new");
  expect(files.get("upload-50")).toBeUndefined();
  expect(database.prepare("SELECT count(*) AS pieces FROM file_pieces").get()).toEqual({ pieces: 1 });
  database.close();
});
