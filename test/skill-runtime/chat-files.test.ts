/**
 * Files of the chat for plugins: found by message and name for the requester of the call alone, and saved in the working folder
 * like files that come with a message: with the same limits and marks.
 */
import { mkdir, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTurnFiles } from "../../src/files/turn-files.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { ChatActions, ChatPlace } from "../../src/ports/chat.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Attachment } from "../../src/ports/message.ts";
import type { Origin } from "../../src/ports/origin.ts";
import type { Platform } from "../../src/ports/platform.ts";
import { createFileOrigins } from "../../src/sandbox/draft/file-origins.ts";
import { createPluginServices, type PluginServicesOptions } from "../../src/skill-runtime/plugins/plugin-services.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { keepTurn } from "../doubles/turn-deps.ts";

let ledger: Ledger;
let folder: string;
let asked: ChatPlace[];
let read: Origin[];
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "chat-files-")));
  ledger = createSqliteLedger({ path: ":memory:" });
  [asked, read] = [[], []];
  await mkdir(join(folder, "work"));
  await keepTurn(ledger, turnRecord({ workingFolder: join(folder, "work") }));
});
afterEach(async () => {
  await ledger.close();
  await rm(folder, { recursive: true, force: true });
});

const ann = { id: "ann", name: "Ann", isBot: false, roles: [] };
const csv: Attachment = { name: "a.csv", mimeType: "text/csv", bytes: 3, source: { id: "F1" } };
const gone: Attachment = { name: "gone.csv", mimeType: "text/csv", bytes: 3, problem: "The file was deleted." };
const long: Attachment = { ...csv, name: `${"n".repeat(300)}.csv` };
const large: Attachment = { ...csv, name: "large.csv", bytes: 2_000_000 };

function chatOf(platform: object) {
  const files = createTurnFiles({
    ...{ ledger, fileOrigins: createFileOrigins(ledger), platform: () => platform as Platform, log: silentLog },
    inspector: { inspect: async () => ({ mimeType: "text/csv", summary: "text", text: "1,2" }) },
    drafts: { hides: async () => false },
    filesRoot: folder,
    limits: { maxBytes: 1024 * 1024, inboxBytes: 3 * 1024 * 1024 },
  });
  const options = { ledger, files, platform: () => platform } as unknown as PluginServicesOptions;
  const services = createPluginServices({ ...options, memoryFor: () => ({}) as never });
  const scope = { turnId: "t1", conversationId: "test:c1", requester: ann } as never;
  const onRead = (origins: readonly Origin[]) => void read.push(...origins);
  return services(
    { id: "c1", tool: "chat_fetch_file", skill: { name: "chat" }, scope, onRead, onEphemeral() {} },
    new AbortController().signal,
  ).chat;
}

function chat() {
  const files: NonNullable<ChatActions["files"]> = async (place) => {
    asked.push(place);
    return [csv, gone, long, large];
  };
  const openFile: NonNullable<Platform["openFile"]> = async () =>
    (async function* () {
      yield Buffer.from("1,2");
    })();
  const audience: ChatActions["audience"] = async () => ({ isOpenHere: true, isRestricted: false, name: "#plans" });
  const mayRead: NonNullable<Platform["mayRead"]> = async (conversationId) => conversationId === "test:asked";
  return chatOf({ chat: { files, audience }, openFile, mayRead });
}

test("a file is fetched for the call's requester, in its conversation or a channel that it names", async () => {
  const file = await chat()?.fetchFile?.({ messageId: "m1", name: "a.csv", channel: "#plans" });
  expect(file).toMatchObject({ name: "a.csv", mimeType: "text/csv", bytes: 3, text: "1,2" });
  expect(await readFile(join(folder, "work", file?.path ?? ""), "utf8")).toBe("1,2");
  expect(asked).toEqual([{ conversationId: "test:c1", requester: ann, channel: "#plans" }]);
});

test("the turn, and whoever reads the file later, know that somebody else may have written it", async () => {
  const file = await chat()?.fetchFile?.({ messageId: "m1", name: "a.csv" });
  expect(read).toEqual([{ kind: "attachment", name: "a.csv" }]);
  const work = join(folder, "work");
  const later = await createFileOrigins(ledger).read({ root: work, seen: work }, file?.path);
  expect(later).toMatchObject([{ kind: "attachment", name: "a.csv" }]);
});

test("a name that was shown cut off finds its file", async () => {
  const file = await chat()?.fetchFile?.({ messageId: "m1", name: `${"n".repeat(50)}…` });
  expect(file?.name).toBe(long.name);
});

test("a file that is too large, not there, deleted, or can't be fetched there is refused in words", async () => {
  const fetch = (name: string) => chat()?.fetchFile?.({ messageId: "m1", name });
  await expect(fetch("large.csv")).rejects.toThrow(/at most 1\.0 MiB \(setting files\.maxMegabytes\)/);
  await expect(fetch("b.csv")).rejects.toThrow(/no file b\.csv: it has a\.csv/);
  await expect(fetch("gone.csv")).rejects.toThrow(/was deleted/);
  const without = chatOf({ chat: {} });
  await expect(without?.fetchFile?.({ messageId: "m1", name: "a.csv" })).rejects.toMatchObject({
    code: "platform.unsupported",
  });
});

test("a request that was moved to a direct message still means the place where it was asked, if its person can read there", async () => {
  for (const conversationId of ["test:asked", "test:left"]) {
    const message = { ...inboundMessage(), askedAt: { conversationId, messageId: "m0" } };
    await ledger.transition("turn", "t1", ["running"], "running", (turn) => ({ ...turn, messages: [message] }));
    await chat()?.fetchFile?.({ messageId: "m1", name: "a.csv" });
  }
  expect(asked.map((place) => place.conversationId)).toEqual(["test:asked", "test:c1"]);
});
