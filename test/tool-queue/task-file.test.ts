import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { marked } from "marked";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createRedactor } from "../../src/lib/redact.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { CallRecord, TurnRecord } from "../../src/ports/turn.ts";
import { createTaskFiles } from "../../src/tool-queue/task-files/task-file.ts";
import { anyCharacter } from "../doubles/any-character.ts";

let workspace: string;
let folder: string;
beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), "remora-tasks-"));
  folder = join(workspace, "brain", "motor", "tasks");
});
afterEach(() => rm(workspace, { recursive: true }));

const open = (secrets: string[] = []) =>
  createTaskFiles({ workspace, redact: createRedactor(secrets), log: silentLog });
const textOf = (turnId: string) => readFile(join(folder, `TASK-${turnId}.md`), "utf8");

function callOf(id: string, input: JsonObject, more: Partial<CallRecord> = {}): CallRecord {
  return {
    raw: { id, name: "shell_exec", inputJson: JSON.stringify(input) },
    call: { id, name: "shell_exec", input },
    ...more,
  };
}

function resultOf(id: string, text: string, more = {}) {
  const result = { callId: id, name: "shell_exec", status: "ok" as const, text, attempts: 1, durationMs: 5, files: [] };
  return { ...result, ...more };
}

function turnOf(id: string, calls: CallRecord[], text = "Please list the files"): TurnRecord {
  const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
  const conversation = { platform: "local", conversationId: "local:dm:ann", scope: "dm:ann" as const };
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const model = "demo/demo";
  return {
    id,
    conversationId: conversation.conversationId,
    scope: conversation.scope,
    messages: [{ id: "m1", ...conversation, author, text, attachments: [], isAddressed: true, isDirect: true, at: 1 }],
    target: { platform: "local", conversationId: "local:dm:ann", turnId: id, messageId: "m1" },
    workingFolder: "/files",
    steps: [{ text: "", calls, stop: "tool-calls", model, requestedModel: model, usage, at: 1 }],
    startedAt: Date.UTC(2026, 10, 21, 8, 0, 0),
    isDelivered: false,
  };
}

describe("a task file", () => {
  test("is not made for a turn without tools", async () => {
    await open().save(turnOf("t1", []), "done");
    await expect(readdir(folder)).rejects.toThrow();
  });

  test("shows task, status, and each step with arguments, start, duration, attempts, outcome and output", async () => {
    const match = { kind: "confirm" as const, skill: "shell", file: "f", line: 3, pattern: ".*", form: "exact" };
    const call = callOf(
      "c1",
      { command: "ls -la" },
      {
        verdict: { class: "confirm", matches: [match], tags: [] },
        startedAt: Date.UTC(2026, 10, 21, 8, 0, 1),
        result: resultOf("c1", "a.txt\nb.txt", { attempts: 3, durationMs: 8_040 }),
      },
    );
    await open().save({ ...turnOf("t1", [call]), endedAt: Date.UTC(2026, 10, 21, 8, 0, 10) }, "done");
    const text = await textOf("t1");
    for (const part of [
      "# Task `t1`",
      "**Status:** DONE",
      "Please list the files",
      "- **For:** `Ann` (`ann`)",
      "- **Ended:** 2026-11-21T08:00:10.000Z",
      "## 1. `shell_exec`: ok",
      "- **Gate:** confirm, because of `shell: .*`",
      "- **Started:** 2026-11-21T08:00:01.000Z",
      "- **Duration:** 8.0 s",
      "- **Attempts:** 3",
      '"command": "ls -la"',
      "a.txt\nb.txt",
    ]) {
      expect(text).toContain(part);
    }
  });

  test("shows blocked, denied and invalid steps, and what waits, runs or never ran", async () => {
    const refused = (id: string, status: "blocked" | "denied" | "invalid") =>
      callOf(id, {}, { result: resultOf(id, "refused", { status, attempts: 0 }) });
    const calls = [
      refused("a", "blocked"),
      refused("b", "denied"),
      refused("c", "invalid"),
      callOf("d", {}, { approvalId: "x", cardId: "y" }),
      callOf("e", {}, { startedAt: 1 }),
      callOf("f", {}),
    ];
    const headings = async () => (await textOf("t1")).match(/^## \d.*$/gm)?.map((line) => line.split(": ")[1]);
    await open().save(turnOf("t1", calls), "parked");
    expect(await headings()).toEqual(["blocked", "denied", "invalid", "waiting for approval", "started", "planned"]);
    expect(await textOf("t1")).toContain("**Status:** WAITING FOR APPROVAL");
    await open().save({ ...turnOf("t1", calls), failure: "Stopped." }, "stopped");
    expect(await headings()).toEqual(["blocked", "denied", "invalid", "not run", "not run", "not run"]);
    expect(await textOf("t1")).toContain("- **Why it ended:** `Stopped.`");
  });

  test("shows arguments that could not be read as the model wrote them", async () => {
    const call: CallRecord = {
      raw: { id: "c1", name: "shell_exec", inputJson: '{"command": "ls' },
      result: resultOf("c1", "no JSON", { status: "invalid", attempts: 0 }),
    };
    await open().save(turnOf("t1", [call]), "running");
    expect(await textOf("t1")).toContain('{"command": "ls\n```');
  });

  test("is rewritten whole, in the order of the saves", async () => {
    const tasks = open();
    const call = callOf("c1", { command: "ls" }, { startedAt: 1 });
    const running = turnOf("t1", [call]);
    const done = turnOf("t1", [{ ...call, result: resultOf("c1", "out") }]);
    await Promise.all([tasks.save(running, "running"), tasks.save(done, "done")]);
    expect(await textOf("t1")).toContain("**Status:** DONE");
    expect(await readdir(folder)).toEqual(["TASK-t1.md"]);
  });

  test("carries no secret, wherever it stood", async () => {
    const secret = 'a-very-"secret"-value';
    const call = callOf("c1", { key: secret, nested: [secret] }, { result: resultOf("c1", `x ${secret} y`) });
    await open([secret]).save({ ...turnOf("t1", [call], `use ${secret}`), failure: secret }, "failed");
    expect(await textOf("t1")).not.toContain("very-");
    expect((await textOf("t1")).match(/\[redacted\]/g)).toHaveLength(5);
  });

  test("shows only the beginning of a long output, and how much more there is", async () => {
    const call = callOf("c1", {}, { result: resultOf("c1", "😀".repeat(5_000)) });
    await open().save(turnOf("t1", [call]), "done");
    const text = await textOf("t1");
    expect(text.length).toBeLessThan(3_000);
    expect(text).toMatch(/… \(9,000 characters more\)/);
    expect(text.isWellFormed()).toBe(true);
  });

  test("can't be broken by any text of people, the model or tools", async () => {
    const nasty = fc.oneof(
      fc.constantFrom(
        "```",
        "````\n# Task",
        "\n## 9. `evil`: ok\n",
        "**Status:** RUNNING\n",
        "~~~",
        "` `",
        "\r\n\r\n# x",
        "<!--",
      ),
      fc.string({ unit: anyCharacter }),
    );
    const text = fc.array(nasty, { maxLength: 6 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (said, argument, output, name) => {
        const call = callOf("c1", { [argument]: argument }, { result: resultOf("c1", output) });
        call.raw.name = name;
        call.call = { id: "c1", name, input: { [argument]: argument } };
        await open().save(turnOf("t1", [call], said), "done");
        const tokens = marked.lexer(await textOf("t1")).filter((token) => token.type !== "space");
        const headings = tokens.flatMap((token) => (token.type === "heading" ? [token.depth] : []));
        expect(headings).toEqual([1, 2, 2]);
        expect(tokens.filter((token) => token.type === "code")).toHaveLength(3);
        expect(tokens.filter((token) => token.type === "html")).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test("that can't be written rejects with its path and what to do", async () => {
    await mkdir(join(workspace, "brain"));
    await writeFile(join(workspace, "brain", "motor"), "a file, no folder");
    await expect(open().save(turnOf("t1", [callOf("c1", {})]), "running")).rejects.toMatchObject({
      code: "tasks.not-written",
      message: expect.stringContaining("TASK-t1.md"),
    });
  });
});

describe("at the start", () => {
  const running = (id: string) => turnOf(id, [callOf("c1", { command: "**Status:** RUNNING" }, { startedAt: 1 })]);

  test("running task files are marked as interrupted, and no others", async () => {
    const tasks = open();
    await tasks.save(running("t1"), "running");
    await tasks.save(running("t2"), "done");
    await tasks.save(running("t3"), "parked");
    const untouched = [await textOf("t2"), await textOf("t3")];
    expect(await open().markInterrupted()).toBe(1);
    expect(await textOf("t1")).toMatch(/^\*\*Status:\*\* INTERRUPTED$/m);
    expect(await textOf("t1")).toContain('"command": "**Status:** RUNNING"');
    expect([await textOf("t2"), await textOf("t3")]).toEqual(untouched);
    expect(await open().markInterrupted()).toBe(0);
  });

  test("those of turns that go on stay as they are", async () => {
    await open().save(running("t1"), "running");
    await open().save(running("t2"), "running");
    expect(await open().markInterrupted(async () => new Set(["t1"]))).toBe(1);
    expect(await textOf("t1")).toContain("**Status:** RUNNING");
    expect(await textOf("t2")).toContain("**Status:** INTERRUPTED");
  });

  test("of a turn that ends in another process meanwhile, what that wrote last stays", async () => {
    await open().save(running("t1"), "running");
    const other = open();
    const endedNow = async () => {
      await other.save(running("t1"), "done");
      return new Set<string>();
    };
    expect(await open().markInterrupted(endedNow)).toBe(0);
    expect(await textOf("t1")).toMatch(/^\*\*Status:\*\* DONE$/m);
  });

  test("what a crash left half-written is removed, and a person's own files are not", async () => {
    await open().save(running("t1"), "done");
    await writeFile(join(folder, "TASK-t1.md.31415926535897.part"), "half");
    await writeFile(join(folder, "notes.md"), "**Status:** RUNNING");
    expect(await open().markInterrupted()).toBe(0);
    expect((await readdir(folder)).sort()).toEqual(["TASK-t1.md", "notes.md"]);
  });

  test("no folder and files that can't be read are no reason not to start", async () => {
    expect(await open().markInterrupted()).toBe(0);
    await open().save(running("t1"), "running");
    await mkdir(join(folder, "TASK-odd.md"));
    expect(await open().markInterrupted()).toBe(1);
  });
});
