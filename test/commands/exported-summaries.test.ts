/** A summary tells what others said, also after somebody left. */
import { expect, test } from "vitest";
import { type ExportedSummariesOptions, exportedSummaries } from "../../src/commands/exported-summaries.ts";

const ann = { id: "ann", name: "Ann", isBot: false, roles: [] };
const conversations = [
  { id: "test:open", scope: "channel:open", userIds: ["ann", "ben"] },
  { id: "test:left", scope: "channel:left", userIds: ["ann", "ben"] },
  { id: "test:unsure", scope: "channel:unsure", userIds: ["ann"] },
  { id: "test:others", scope: "channel:others", userIds: ["ben"] },
  { id: "test:dm:ann", scope: "dm:ann", userIds: ["ann"] },
  { id: "test:dm:ben", scope: "dm:ben", userIds: ["ann", "ben"] },
] as const;

async function exported(changes: Partial<ExportedSummariesOptions> = {}): Promise<string[]> {
  const options: ExportedSummariesOptions = {
    conversations: async () => conversations,
    summaryOf: async (path) => ({ path, text: "what was said" }),
    mayRead: async (_platform, id) => (id === "test:unsure" ? undefined : id !== "test:left"),
    ...changes,
  };
  return (await exportedSummaries(options, "test", ann)).map(({ path }) => path);
}

test("who left a channel does not get its summary, nor that of a conversation whose readers are unknown", async () => {
  expect(await exported()).toEqual(["test:open", "test:dm:ann"]);
  expect(await exported({ mayRead: async () => false })).toEqual(["test:dm:ann"]);
});

test("the platform is asked only about conversations with a summary", async () => {
  const asked: string[] = [];
  const mayRead = async (platform: string, id: string) => asked.push(`${platform} ${id}`) > 0;
  const summaryOf = async (path: string) => (path === "test:left" ? { path, text: "" } : undefined);
  await exported({ mayRead, summaryOf });
  expect(asked).toEqual(["test test:left"]);
});
