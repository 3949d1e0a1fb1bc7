import { expect, test } from "vitest";
import { createCommands } from "../../src/commands/registry.ts";
import { silentLog } from "../../src/lib/log.ts";
import { inboundMessage } from "../doubles/records.ts";

const stop = { usage: "stop", description: "stop what runs here", run: async () => "Stopped." };
const { conversationId, scope, author: by } = inboundMessage();
const answerTo = async (name: string) =>
  (
    await createCommands([stop], silentLog).handle({
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
