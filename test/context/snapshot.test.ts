import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createContextBuilder } from "../../src/context/assemble.ts";
import { explainTurn, listSnapshots } from "../../src/context/explain.ts";
import { snapshotFolder, snapshotName } from "../../src/context/snapshot.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createRedactor } from "../../src/lib/redact.ts";
import { notKeptText } from "../../src/ports/ephemeral.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { createMemoryDouble, createWorld, memoryHit, skillBrief, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => world.remove());

function turnOf(id: string, text: string) {
  return turnRecord({ id, messages: [inboundMessage({ id: `m-${id}`, text })] });
}

function read(path: string): string {
  return readFileSync(join(world.workspace, path), "utf8");
}

describe("a snapshot", () => {
  test("holds every word that was sent, the tools, the model, the budget and every candidate's score", async () => {
    world.write("brain/identity/soul.md", "You are kind.\n~~~\nnot a fence\n~~~~");
    const { memory } = createMemoryDouble([
      memoryHit("a note", { score: 4 }),
      memoryHit("a lesser note", { score: 1 }),
    ]);
    const builder = world.builder({ memory, skills: () => [skillBrief("git", { triggers: ["commit"] })] });
    const tools = [toolSpec("shell_exec", { description: "Runs a command." })];
    const turn = turnOf("t1", "commit | it");
    turn.messages[0]?.attachments.push({
      name: "a",
      mimeType: "image/png",
      bytes: 3,
      imageBase64: "QUJD".repeat(1_000),
    });
    const { request, snapshotPath } = await builder.build({ turn, step: 3, tools, notes: ["be quick"] });
    const text = read(snapshotPath);
    for (const part of request.system) expect(text).toContain(`\n${part.text}\n`);
    for (const message of request.messages) {
      if (message.role !== "user") throw new TypeError("only a person has spoken");
      for (const part of message.content) if (part.type === "text") expect(text).toContain(`\n${part.text}\n`);
    }
    expect(text).toContain(JSON.stringify(tools[0]?.parameters));
    expect(text).toMatch(/^# Turn t1, step 3\n/);
    expect(text).toContain("- model: test/model");
    expect(text).toMatch(/\| memory \| 30 % \| \d+ \| \d+ \| 2 \| 0 \|/);
    expect(text).toMatch(/\| memory \| \S+ § 09:00 — a note \| 0\.250 \| \d+ \| in \| fits \|/);
    expect(text).toMatch(/\| skills \| git \| 1\.000 \|/);
    expect(text).toContain("image image/png, 4000 base64 characters, sha256");
    expect(text).not.toContain("QUJDQUJD");
  });

  test("tells of what a model wants back by size, and holds none of it", async () => {
    const raw = { id: "a", name: "look", inputJson: "{}" };
    const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const step = {
      text: "",
      calls: [{ raw }],
      carry: ["an encrypted thought"],
      stop: "tool-calls" as const,
      usage,
      at: 1,
    };
    const turn = turnOf("t1", "hello");
    turn.steps.push({ ...step, model: "a/one", requestedModel: "a/one" });
    const { snapshotPath } = await world.builder().build({ turn, step: 2, tools: [], notes: [] });
    expect(read(snapshotPath)).toContain("with 24 characters that a/one expects back");
    expect(read(snapshotPath)).not.toContain("encrypted thought");
  });

  test("tells that a result is not kept, which the model reads in the running turn alone", async () => {
    const raw = { id: "a", name: "chat_search", inputJson: "{}" };
    const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const end = { callId: "a", name: "chat_search", attempts: 1, durationMs: 1, files: [] };
    const result = { ...end, status: "ok" as const, text: notKeptText, isEphemeral: true as const };
    const turn = turnOf("t1", "hello");
    const models = { model: "a/one", requestedModel: "a/one" };
    turn.steps.push({ text: "", calls: [{ raw, result }], stop: "tool-calls", usage, at: 1, ...models });
    const held = new Map([["result:t1-a", "zq7 found"]]);
    for (const isHeld of [true, false]) {
      const ephemeral = { get: (key: string) => (isHeld ? held.get(key) : undefined) };
      const { request, snapshotPath } = await world
        .builder({ ephemeral })
        .build({ turn, step: 2, tools: [], notes: [] });
      expect(JSON.stringify(request).includes("zq7 found")).toBe(isHeld);
      expect(read(snapshotPath)).toContain(notKeptText);
      expect(read(snapshotPath)).not.toContain("zq7");
    }
  });

  test("says what was left out and why", async () => {
    const hits = Array.from({ length: 24 }, (_, index) => memoryHit("word ".repeat(2_000), { heading: `h${index}` }));
    const builder = world.builder({ memory: createMemoryDouble(hits).memory });
    const { snapshotPath } = await builder.build({ turn: turnOf("t1", "hi"), step: 1, tools: [], notes: [] });
    expect(read(snapshotPath)).toMatch(/memory \S+ § h23 left out: there was room for better ones only/);
  });

  test("shows no secrets, wherever they stand", async () => {
    const secret = "very-secret-value";
    world.write("brain/identity/soul.md", `The key is ${secret}.`);
    const turn = turnOf("t1", `mine is ${secret} and sk-ant-${"a1".repeat(20)}`);
    const builder = world.builder({ redact: createRedactor([secret]) });
    const { snapshotPath } = await builder.build({ turn, step: 1, tools: [], notes: [secret] });
    expect(read(snapshotPath)).not.toMatch(/very-secret-value|sk-ant-/);
    expect(read(snapshotPath)).toContain("[redacted]");
  });

  test("is for its owner's eyes, and only the newest fifty stay", async () => {
    let clock = 0;
    const builder = world.builder({ now: () => ++clock });
    for (let step = 1; step <= 60; step++) {
      await builder.build({ turn: turnOf("t1", "hi"), step, tools: [], notes: [] });
    }
    const names = readdirSync(join(world.workspace, snapshotFolder)).sort();
    expect(names.length).toBe(50);
    expect(names.every((name) => name.endsWith(".md"))).toBe(true);
    expect((await listSnapshots(world.workspace)).map((snapshot) => snapshot.step)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 11),
    );
    expect(statSync(join(world.workspace, snapshotFolder, names[0] ?? "")).mode & 0o077).toBe(0);
  });

  test("that can't be written does not cost the answer, and the log says so", async () => {
    mkdirSync(join(world.workspace, "brain/prefrontal"), { recursive: true });
    writeFileSync(join(world.workspace, snapshotFolder), "a file is in the way");
    const said: string[] = [];
    const log = { ...silentLog, error: (_fields: object, message: string) => void said.push(message) };
    const built = await world.builder({ log }).build({ turn: turnOf("t1", "hi"), step: 1, tools: [], notes: [] });
    expect(built.request.messages.length).toBe(2);
    expect(said).toEqual(["could not write the snapshot of a model call"]);
  });

  test("is written without being asked for, and shows the turn as it was at the call, whatever comes after", async () => {
    const turn = turnOf("t1", "hi");
    const { build } = createContextBuilder(world.options());
    const first = await build({ turn, step: 1, tools: [], notes: [] });
    turn.messages.push(
      inboundMessage({ id: "later", text: "said later", author: { id: "zoe", name: "Zoe", isBot: false, roles: [] } }),
    );
    const second = await build({ turn, step: 2, tools: [], notes: [] });
    await expect.poll(() => listSnapshots(world.workspace)).toHaveLength(2);
    expect(read(first.snapshotPath)).not.toMatch(/said later|Zoe/);
    expect(read(second.snapshotPath)).toMatch(/person: Zoe/);
  });

  test("are written every five seconds in a burst, so that most need not be written", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let clock = 0;
    const { build } = createContextBuilder({ ...world.options(), now: () => ++clock });
    const written = async () => (await listSnapshots(world.workspace)).map(({ step }) => step);
    const ask = (step: number) => build({ turn: turnOf("t1", "hi"), step, tools: [], notes: [] });
    for (const step of [1, 2, 3]) {
      await ask(step);
      vi.advanceTimersByTime(100);
      expect(await written()).toContain(step);
    }
    for (let step = 4; step <= 10; step++) await ask(step);
    vi.advanceTimersByTime(100);
    for (let step = 11; step <= 70; step++) await ask(step);
    vi.advanceTimersByTime(4_900);
    expect(await written()).toContain(10);
    expect(await written()).not.toContain(70);
    vi.advanceTimersByTime(100);
    expect((await written()).toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 21),
    );
    vi.advanceTimersByTime(5_000);
    await ask(71);
    vi.advanceTimersByTime(100);
    expect(await written()).toContain(71);
  });

  test("comes back when its folder is removed while it runs", async () => {
    const builder = world.builder();
    await builder.build({ turn: turnOf("t1", "hi"), step: 1, tools: [], notes: [] });
    rmSync(join(world.workspace, snapshotFolder), { recursive: true });
    const { snapshotPath } = await builder.build({ turn: turnOf("t1", "hi"), step: 2, tools: [], notes: [] });
    expect(read(snapshotPath)).toContain("step 2");
  });
});

describe("explaining a turn", () => {
  test("finds its snapshots by id or by the beginning of it, in order", async () => {
    const builder = world.builder();
    for (const [id, step] of [
      ["aa1", 1],
      ["aa1", 2],
      ["ab", 1],
      ["a", 1],
    ] as const) {
      await builder.build({ turn: turnOf(id, `words of ${id}`), step, tools: [], notes: [] });
    }
    const found = async (id: string) =>
      (await explainTurn(world.workspace, id)).map(({ turnId, step }) => `${turnId}/${step}`);
    expect(await found("aa1")).toEqual(["aa1/1", "aa1/2"]);
    expect(await found("aa")).toEqual(["aa1/1", "aa1/2"]);
    expect(await found("a")).toEqual(["a/1"]);
    expect(await found("nope")).toEqual([]);
    expect(await found("")).toEqual([]);
    expect((await explainTurn(world.workspace, "ab"))[0]?.text).toContain("words of ab");
  });

  test("passes over foreign files, and finds nothing in an empty workspace", async () => {
    expect(await listSnapshots(world.workspace)).toEqual([]);
    world.write(`${snapshotFolder}/notes.md`, "mine");
    world.write(`${snapshotFolder}/20261121T080000000Z-%zz-1.md`, "odd");
    expect((await listSnapshots(world.workspace)).map((snapshot) => snapshot.turnId)).toEqual(["%zz"]);
  });

  test("reads back every turn id that a name was made from", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 99 }),
        async (id, step) => {
          rmSync(join(world.workspace, snapshotFolder), { recursive: true, force: true });
          world.write(`${snapshotFolder}/${snapshotName(1, id, step)}`, "x");
          expect(await listSnapshots(world.workspace)).toMatchObject([{ turnId: id, step }]);
        },
      ),
    );
  });
});
