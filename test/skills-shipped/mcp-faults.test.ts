/** The mcp skill with servers at their worst: each costs its own tools, never anything else. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createPace } from "../../skills/mcp/pace.ts";
import { openMcp, programServer } from "./mcp-agent.ts";

async function temporaryFile(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "remora-mcp-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, name);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a server that is not there", () => {
  test("is a finding that says why, holds up nothing, and a call of it says so too", async () => {
    const servers = {
      missing: { command: "no-such-program-anywhere" },
      nowhere: programServer({}, { cwd: "/no/such/folder" }),
      broken: programServer({ start: "broken" }),
      good: programServer(),
    };
    const { until, problems, printed, run, names } = await openMcp(servers);
    await until("good_echo");
    await vi.waitFor(() => expect(problems()).toHaveLength(3), { timeout: 10_000 });
    expect(problems()).toEqual([
      "broken is not connected: it ended before it was ready",
      expect.stringMatching(/^missing is not connected: no-such-program-anywhere can't be started \(ENOENT\)/),
      expect.stringMatching(/^nowhere is not connected: .*the folder \/no\/such\/folder exists$/),
    ]);
    expect(printed()).toEqual([expect.stringMatching(/ \| the database is not there$/)]);
    expect(names().every((name) => name.startsWith("good_"))).toBe(true);
    expect(await run("good_echo")).toMatchObject({ isOk: true });
  });

  test("is connected as soon as it can be, without a restart", async () => {
    const gate = await temporaryFile("server.mjs");
    const { until, problems } = await openMcp({ late: { command: process.execPath, args: [gate] } });
    await vi.waitFor(() => expect(problems()).toHaveLength(1), { timeout: 10_000 });
    const double = join(import.meta.dirname, "../doubles/mcp-server.ts");
    await writeFile(gate, `process.argv[2] = "{}"; await import(${JSON.stringify(double)});`);
    await until("late_echo");
    await vi.waitFor(() => expect(problems()).toEqual([]));
  });

  test("because it never says a word is given up after its time, and ended", async () => {
    const { problems, close } = await openMcp({ mute: programServer({ start: "silent" }, { connectSeconds: 1 }) });
    await vi.waitFor(() => expect(problems()).toEqual(["mute is not connected: it was not ready within 1 s"]), {
      timeout: 10_000,
    });
    await close();
  });

  test("because it writes a line without end is given up", async () => {
    const { problems, printed } = await openMcp({ loud: programServer({ start: "unbroken" }) });
    const text = "loud is not connected: it ended before it was ready";
    await vi.waitFor(() => expect(problems()).toEqual([text]), { timeout: 40_000 });
    expect(printed()).toEqual([expect.stringMatching(/exceeded maximum size/)]);
  });
});

describe("a server that is strange", () => {
  test("writes what is no message, floods standard error, and works", async () => {
    const { until, run, logged } = await openMcp({ noisy: programServer({ start: "noisy" }) });
    await until("noisy_echo");
    expect(await run("noisy_echo")).toMatchObject({ isOk: true });
    const lines = await vi.waitUntil(() => {
      const found = logged.filter(({ line }) => line !== undefined);
      return found.length === 20 && found;
    });
    expect(lines.every(({ line }) => String(line).length <= 500)).toBe(true);
  });

  test("of the old kind, that ends at a question it does not know, is met without it", async () => {
    const { until, run } = await openMcp({ old: programServer({ start: "strict" }) });
    await until("old_echo");
    expect(await run("old_echo")).toMatchObject({ isOk: true });
  });

  test("lists what are no tools, or tools that can't be used: the others are offered, and it is said", async () => {
    const odd = [
      null,
      7,
      { name: "" },
      { name: "schema", inputSchema: { type: "object", properties: { n: { type: "wrong" } } } },
      { name: "text schema", inputSchema: "no schema", description: 7 },
      { name: "arguments", inputSchema: { type: "object", properties: { " ": {} } } },
    ];
    const { until, names, problems } = await openMcp({ odd: programServer({ odd }) });
    await until("odd_schema");
    expect(names()).toEqual(expect.arrayContaining(["odd_echo", "odd_text_schema"]));
    expect(names()).not.toContain("odd_arguments");
    expect(problems()).toEqual([
      "odd: 3 invalid entries of its list were left out",
      expect.stringMatching(/^odd: the tool odd\/schema: its parameters were simplified/),
      expect.stringMatching(/^odd: the tool odd\/text schema: its parameters are not JSON/),
      expect.stringMatching(/^odd: the tool odd\/arguments was left out: its argument " "/),
    ]);
  });

  test("has 500 tools: a hundred are offered, and that is said; so are those of a list without end", async () => {
    const { until, names, problems } = await openMcp({ many: programServer({ count: 500 }) });
    await until("many_tool-1");
    expect(names()).toHaveLength(100);
    expect(problems()).toEqual([expect.stringMatching(/^many offers 500 tools, of which 100 are in force.*settings$/)]);
    const endless = await openMcp({ endless: programServer({ count: 100, isEndless: true }) });
    await endless.until("endless_tool-1");
    expect(endless.problems()).toContain("endless: its list of tools does not end; the first 2000 were read");
  });

  test("has no tools at all, and that is no problem", async () => {
    const { problems, logged, names } = await openMcp({ empty: programServer({ isEmpty: true }) });
    await vi.waitFor(() => expect(logged).toContainEqual(expect.objectContaining({ server: "empty", tools: 0 })), {
      timeout: 10_000,
    });
    expect([names(), problems()]).toEqual([[], []]);
  });
});

describe("a call", () => {
  test("in which the server dies is not tried again, because nobody knows; the next one finds it back", async () => {
    const calls = await temporaryFile("calls");
    const { until, run, names } = await openMcp({ hub: programServer({ calls }) });
    await until("hub_die");
    expect(await run("hub_die")).toMatchObject({
      isOk: false,
      isRetryable: false,
      text: expect.stringContaining("may or may not have taken effect"),
    });
    expect(names()).toContain("hub_echo");
    expect(await run("hub_echo", { text: "again" })).toMatchObject({ isOk: true, text: 'echo {"text":"again"}' });
    expect(await readFile(calls, "utf8")).toBe("die\necho\n");
  });

  test("that is never answered ends with the person's stop, or with its time", async () => {
    const { until, run } = await openMcp({ hub: programServer({}, { seconds: 0.5 }) });
    await until("hub_hang");
    const stop = new AbortController();
    const stopped = run("hub_hang", {}, stop.signal);
    stop.abort();
    expect(await stopped).toMatchObject({ isOk: false, isRetryable: false, text: expect.stringContaining("stopped") });
    expect(await run("hub_hang")).toMatchObject({
      isOk: false,
      isRetryable: false,
      text: expect.stringContaining("may or may not"),
    });
    expect(await run("hub_echo")).toMatchObject({ isOk: true });
  });

  test("answered with megabytes is read; with more than fits is given up, and the next one works", async () => {
    const { until, run } = await openMcp({ hub: programServer() });
    await until("hub_huge");
    const { text } = await run("hub_huge");
    expect(text.length).toBeLessThan(1_100_000);
    expect(text).toContain("(Cut here.)");
    expect(await run("hub_endless")).toMatchObject({ isOk: false, text: expect.stringContaining("may or may not") });
    expect(await run("hub_echo")).toMatchObject({ isOk: true });
  });

  test("that comes with a flood of notifications does not keep this process from its other work", async () => {
    const { until, run } = await openMcp({ loud: programServer(), calm: programServer() });
    await until("loud_flood");
    await until("calm_echo");
    const stop = new AbortController();
    let isOver = false;
    const flood = run("loud_flood", {}, stop.signal).finally(() => {
      isOver = true;
    });
    for (let count = 0; count < 5; count += 1) expect(await run("calm_echo")).toMatchObject({ isOk: true });
    expect(isOver).toBe(false);
    stop.abort();
    await flood;
  });
});

test("what comes too fast waits for the next second, in bytes and in messages", () => {
  let now = 0;
  const pace = createPace(() => now);
  expect(pace(1_000, 1_999)).toBe(0);
  now = 400;
  expect(pace(10, 5)).toBe(600);
  now = 1_000;
  expect(pace(10, 5)).toBe(0);
  expect(pace(40 * 1024 * 1024, 1)).toBe(1_000);
  now = 2_500;
  expect(pace(1, 1)).toBe(0);
});

test("servers are ended with the toolbox, with all they have started, however stubborn", async () => {
  const pids = await temporaryFile("pids");
  const { until, close } = await openMcp({ stubborn: programServer({ start: "stubborn", pids }) });
  await until("stubborn_echo");
  expect(existsSync(pids)).toBe(true);
  const started = (await readFile(pids, "utf8")).trim().split("\n").map(Number);
  expect(started.map(isAlive)).toEqual([true, true]);
  await close();
  await vi.waitFor(() => expect(started.map(isAlive)).toEqual([false, false]), { timeout: 5_000 });
});
