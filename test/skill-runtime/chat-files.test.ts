/** Files of the chat for plugins: found by message and name, for the requester of the call alone, and opened by the platform. */
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ChatActions, ChatPlace } from "../../src/ports/chat.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Attachment } from "../../src/ports/message.ts";
import type { Platform } from "../../src/ports/platform.ts";
import { createPluginServices, type PluginServicesOptions } from "../../src/skill-runtime/plugins/plugin-services.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { turnRecord } from "../doubles/records.ts";
import { keepTurn } from "../doubles/turn-deps.ts";

let ledger: Ledger;
beforeEach(async () => {
  ledger = createSqliteLedger({ path: ":memory:" });
  await keepTurn(ledger, turnRecord());
});
afterEach(() => ledger.close());

const ann = { id: "ann", name: "Ann", isBot: false, roles: [] };
const csv: Attachment = { name: "a.csv", mimeType: "text/csv", bytes: 3, source: { id: "F1" } };
const gone: Attachment = { name: "gone.csv", mimeType: "text/csv", bytes: 3, problem: "The file was deleted." };
const large: Attachment = { ...csv, name: "large.csv", bytes: 1_001 };
const long: Attachment = { ...csv, name: `${"n".repeat(300)}.csv`, source: { id: "F2" } };

function chatWith(asked: ChatPlace[], openFile?: NonNullable<Platform["openFile"]>) {
  const files: NonNullable<ChatActions["files"]> = async (place) => {
    asked.push(place);
    return [csv, gone, large, long];
  };
  const platform = { chat: { files } as unknown as ChatActions, ...(openFile === undefined ? {} : { openFile }) };
  const options = { ledger, platform: () => platform } as unknown as PluginServicesOptions;
  const services = createPluginServices({ ...options, memoryFor: () => ({}) as never, maxFileBytes: 1_000 });
  const scope = { turnId: "t1", conversationId: "test:c1", requester: ann } as never;
  const call = { id: "c1", tool: "chat_fetch_file", scope, onRead: () => {} };
  return services(call, new AbortController().signal).chat;
}

const opened: NonNullable<Platform["openFile"]> = async ({ source }) =>
  (async function* () {
    yield Buffer.from(`content of ${JSON.stringify(source)}`);
  })();

test("a file is opened for the call's requester, in its conversation or a channel that it names", async () => {
  const asked: ChatPlace[] = [];
  const file = await chatWith(asked, opened)?.openFile?.({ messageId: "m1", name: "a.csv", channel: "#plans" });
  expect(file).toMatchObject({ name: "a.csv", mimeType: "text/csv", bytes: 3 });
  expect(await text(file?.content as never)).toBe('content of {"id":"F1"}');
  expect(asked).toEqual([{ conversationId: "test:c1", requester: ann, channel: "#plans" }]);
});

test("a name that was shown cut off finds its file", async () => {
  const file = await chatWith([], opened)?.openFile?.({ messageId: "m1", name: `${"n".repeat(50)}…` });
  expect(file?.name).toBe(long.name);
});

test("a file that is not there, was deleted, or can't be fetched there is refused in words", async () => {
  const chat = chatWith([], opened);
  await expect(chat?.openFile?.({ messageId: "m1", name: "b.csv" })).rejects.toThrow(/no file b\.csv: it has a\.csv/);
  await expect(chat?.openFile?.({ messageId: "m1", name: "gone.csv" })).rejects.toThrow(/was deleted/);
  await expect(chat?.openFile?.({ messageId: "m1", name: "large.csv" })).rejects.toThrow(/files\.maxMegabytes/);
  const without = chatWith([]);
  await expect(without?.openFile?.({ messageId: "m1", name: "a.csv" })).rejects.toMatchObject({
    code: "platform.unsupported",
  });
});
