import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createTaskFiles } from "../../src/tool-queue/task-files/task-file.ts";
import { placeOfTask, renderTask } from "../../src/tool-queue/task-files/task-text.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";

let workspace: string;
beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), "remora-tasks-"));
});
afterEach(() => rm(workspace, { recursive: true }));

function turnBy(id: string, name: string, conversationId: string, turnId: string) {
  const call = { raw: { id: "c", name: "act", inputJson: "{}" }, call: { id: "c", name: "act", input: {} } };
  const step = {
    text: "",
    calls: [call],
    stop: "tool-calls" as const,
    model: "m",
    requestedModel: "m",
    usage: noUsage,
    at: 1,
  };
  const messages = [inboundMessage({ author: { id, name, isBot: false, roles: [] } })];
  return turnRecord({ id: turnId, conversationId, messages, steps: [step] });
}

test("files are removed by whom and where they were for; those that people have rewritten stay", async () => {
  const tasks = createTaskFiles({ workspace, redact: (text) => text, log: silentLog });
  await tasks.save(turnBy("ann", "Ann", "test:c1", "t1"), "done");
  await tasks.save(turnBy("ben", "Ben (`ann`)", "test:c1", "t2"), "done");
  await tasks.save(turnBy("ann", "Ann", "test:c2", "t3"), "failed");
  const folder = join(workspace, "brain/motor/tasks");
  await writeFile(join(folder, "TASK-own.md"), "# What I keep here\n");
  expect(await tasks.forget((task) => task.requesterId === "ann" && task.conversationId === "test:c1")).toBe(1);
  expect((await readdir(folder)).sort()).toEqual(["TASK-own.md", "TASK-t2.md", "TASK-t3.md"]);
  expect(await tasks.forget((task) => task.requesterId === "ann")).toBe(1);
  expect(await tasks.forget((task) => task.conversationId === "test:c1")).toBe(1);
  expect(await readdir(folder)).toEqual(["TASK-own.md"]);
});

test("where there are no task files there is nothing to remove", async () => {
  const tasks = createTaskFiles({ workspace, redact: (text) => text, log: silentLog });
  expect(await tasks.forget(() => true)).toBe(0);
  await mkdir(join(workspace, "brain/motor/tasks"), { recursive: true });
  expect(await tasks.forget(() => true)).toBe(0);
});

test("whatever a person is called, a file is read as that person's whose id it has", () => {
  const id = fc.stringMatching(/^[A-Za-z0-9:_.-]{1,30}$/);
  fc.assert(
    fc.property(id, fc.string({ unit: "grapheme" }), id, (userId, name, conversationId) => {
      const text = renderTask(turnBy(userId, name, conversationId, "t1"), "done", (said) => said);
      expect(placeOfTask(text)).toEqual({ requesterId: userId, conversationId });
    }),
  );
});
