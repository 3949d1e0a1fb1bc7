import { expect, test } from "vitest";
import { createCommands } from "../../src/commands/registry.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { InboundCommand, Scope } from "../../src/ports/message.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";

const stop = { usage: "stop", description: "stop what runs here", run: async () => "Stopped." };
const { conversationId, scope, author: by } = inboundMessage();
const answerTo = async (name: string) =>
  (
    await createCommands([stop], { list: async () => [] }, silentLog).handle({
      ...{ platform: "test", conversationId, scope, by, name, rest: "", at: 1 },
    })
  ).text;

const help = [
  "- `/remora ask TEXT` — ask me something, as in a message that mentions me",
  "- `/remora stop` — stop what runs here",
].join("\n");

test.each(["", "help", "ask"])(
  "/remora %s lists what can be written, also what is said like a message",
  async (name) => {
    expect(await answerTo(name)).toBe(help);
  },
);

test("an unknown command is named above the list", async () => {
  expect(await answerTo("frobnicate")).toBe(`There is no command \`frobnicate\`.\n\n${help}`);
});

test("beside the threads of a DM, a command is about the newest conversation there, also when its turns are gone", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const run = async ({ conversationId: id }: InboundCommand) => id;
  const where = { usage: "where", description: "says where", run };
  const said = async (more: Partial<InboundCommand>) => {
    const command = {
      platform: "slack",
      conversationId: "slack:T1:D1",
      scope: "dm:U1",
      by,
      name: "where",
      rest: "",
      at: 1,
    };
    return (await createCommands([where], ledger, silentLog).handle({ ...command, ...more } as InboundCommand)).text;
  };
  const know = (id: string, scope: Scope) =>
    ledger.create("conversation", id, { state: "known", body: { scope, userIds: [] }, group: scope });
  const keep = (id: string, conversationId: string, scope: Scope) => {
    const target = { platform: "slack", conversationId, turnId: id, messageId: id };
    const body = turnRecord({ id, conversationId, scope, target });
    return ledger.create("turn", id, { state: "done", body, group: conversationId });
  };
  expect(await said({ isBesideThreads: true })).toBe("slack:T1:D1");
  await know("slack:T1:D1:1.000001", "dm:U1");
  await know("slack:T1:D2:1.000002", "dm:U2");
  expect(await said({ isBesideThreads: true })).toBe("slack:T1:D1:1.000001");
  await keep("t1", "slack:T1:D1:1.000003", "dm:U1");
  await keep("t2", "slack:T1:D2:1.000004", "dm:U2");
  expect(await said({ isBesideThreads: true })).toBe("slack:T1:D1:1.000003");
  expect(await said({})).toBe("slack:T1:D1");
  await ledger.close();
});
