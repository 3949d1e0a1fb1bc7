/** Checks of folders, files and models, without a running process. */
import { chmod, mkdir, mkdtemp, open, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkDisk } from "../../src/health/disk.ts";
import { createModelWatch } from "../../src/health/model-watch.ts";
import { checkFolderExists, checkLeftovers, checkPrivate, runFix } from "../../src/health/repairs.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { HealthCheck } from "../../src/ports/health.ts";
import type { ModelRequest, Provider } from "../../src/ports/provider.ts";
import { createProviders } from "../../src/providers/select.ts";
import { openState } from "../../src/storage/open-state.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createScriptedProvider, declines, noUsage } from "../doubles/scripted-provider.ts";
import { asking } from "../providers/apis.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-health-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const signal = new AbortController().signal;

async function fixed(checks: HealthCheck[]): Promise<string> {
  const [check] = checks;
  if (check === undefined) throw new Error("nothing to fix");
  return (await runFix(check)).text;
}

test("a disk with too little room is broken, and a missing folder says what to do", async () => {
  const data = { name: "data", path: folder };
  expect(await checkDisk(data, 1)).toMatchObject({ name: "disk data", state: "ok" });
  expect(await checkDisk(data, Number.MAX_SAFE_INTEGER)).toMatchObject({ state: "broken", todo: "Free some space" });
  const missing = await checkDisk({ name: "data", path: join(folder, "none") }, 1);
  expect(missing).toMatchObject({ state: "broken", why: "The folder does not exist" });
});

test("repairs create folders, take rights from others, and remove what interrupted checks have left", async () => {
  const path = join(folder, "data");
  expect(await fixed(await checkFolderExists({ name: "data", path }))).toBe(`created ${path}`);
  expect(await checkFolderExists({ name: "data", path })).toEqual([]);
  await chmod(path, 0o755);
  await fixed(await checkPrivate(path, "data"));
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  const leftover = join(path, ".remora-write-test-1");
  await writeFile(leftover, "");
  expect(await checkLeftovers({ name: "data", path })).toEqual([]);
  await utimes(leftover, 1, 1);
  expect(await fixed(await checkLeftovers({ name: "data", path }))).toBe(`removed 1 files from ${path}`);
  await expect(stat(leftover)).rejects.toThrow("ENOENT");
});

test("a device keeps its rights", async () => {
  expect(await checkPrivate("/dev/null", ".env")).toEqual([]);
});

test("a damaged ledger refuses the start, says what to do, and stays as it is", async () => {
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger({ path });
  for (let number = 0; number < 200; number++)
    await ledger.create("health", `${number}`, {
      state: "noted",
      group: "g",
      body: { detail: "x".repeat(500) } as never,
    });
  await ledger.close();
  const file = await open(path, "r+");
  await file.write(Buffer.alloc(8_192, 7), 0, 8_192, 16_384);
  await file.close();
  const state = openState({ data: folder, redis: null, log: silentLog }, async () => async () => {}, signal);
  await expect(state).rejects.toThrow(
    /is damaged .*Nothing was changed\. Go back to a backup: npm run -s remora -- restore/,
  );
});

test("a model is broken until it answers again, and one that answers makes the others warnings", async () => {
  await mkdir(folder, { recursive: true });
  let error: RemoraError | undefined = new RemoraError({
    ...{ code: "provider.wrong-key", place: "provider a", message: "the key was refused" },
  });
  const speaking = (name: string): Provider => ({
    name,
    model: `${name}/m`,
    async *stream() {
      if (name === "a" && error !== undefined) yield { type: "error", error };
      else {
        const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
        yield { type: "end", stop: "end", usage, model: `${name}/m` };
      }
    },
  });
  const watch = createModelWatch({ log: silentLog, refusal: () => undefined });
  const a = watch.observe(speaking("a"));
  await watch.check(signal);
  const said = watch.checks();
  expect(said).toMatchObject([{ name: "model a/m", state: "broken", what: "the key was refused" }]);
  const request: ModelRequest = { system: [], messages: [], tools: [], maxOutputTokens: 1 };
  for await (const event of a.stream(request, signal)) expect(event.type).toBe("error");
  // A person's request says it in the same words.
  expect(watch.checks()).toEqual(said);
  const b = watch.observe(speaking("b"));
  const counted: string[] = [];
  await watch.check(signal, ({ model, usage }) => counted.push(`${model}: ${usage.inputTokens + usage.outputTokens}`));
  expect(counted).toEqual(["b/m: 2"]);
  expect(watch.checks().map(({ state }) => state)).toEqual(["warning", "ok"]);
  error = undefined;
  for await (const event of a.stream(request, signal)) expect(event.type).toBe("end");
  expect(watch.problemOf("a/m")).toBeUndefined();
  expect(b.name).toBe("b");
});

test("a model that declines to answer works, in a turn and when it is checked", async () => {
  for (const isChecked of [true, false]) {
    const watch = createModelWatch({ log: silentLog, refusal: () => undefined });
    const provider = watch.observe(createScriptedProvider([declines()]));
    if (isChecked) await watch.check(signal);
    else for await (const _event of provider.stream(asking("hello"), signal));
    expect(watch.checks()).toMatchObject([{ state: "ok", what: "scripted/one answers" }]);
    expect(watch.isBroken()).toBe(false);
  }
});

test("a model whose key is refused is not called while another one is left, and is said to be broken", async () => {
  const called: string[] = [];
  const speaking = (name: string): Provider => ({
    name,
    model: `${name}/m`,
    async *stream() {
      called.push(name);
      const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
      yield { type: "end", stop: "end", usage, model: `${name}/m` };
    },
  });
  const refused = new Set(["a"]);
  const failure = { code: "provider.wrong-key", message: "the key was refused" };
  const refusal = ({ name }: Provider) => (refused.has(name) ? failure : undefined);
  const watch = createModelWatch({ log: silentLog, refusal });
  watch.observe(speaking("a"));
  watch.observe(speaking("b"));
  await watch.check(signal);
  expect(called).toEqual(["b"]);
  expect(watch.checks()).toMatchObject([{ state: "warning", what: "the key was refused" }, { state: "ok" }]);

  refused.add("b");
  await watch.check(signal);
  expect(called).toEqual(["b", "a"]);
  expect(watch.checks().map(({ state }) => state)).toEqual(["ok", "ok"]);
});

describe("a model in the watch", () => {
  const clock = { now: 0 };
  let digest = "one";
  let asked: ModelRequest[] = [];
  let failure: RemoraError | undefined;
  const failed = (code: string, more: { detail?: string; retryAfterMs?: number } = {}) =>
    new RemoraError({ ...{ code, place: "provider a", message: `failed with ${code}` }, ...more });
  const provider: Provider = {
    name: "a",
    model: "a/m",
    keyDigest: () => digest,
    async *stream(request) {
      asked.push(request);
      if (failure !== undefined) yield { type: "error", error: failure };
      else {
        const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
        yield { type: "end", stop: "end", usage, model: "a/m" };
      }
    },
  };
  const turn: ModelRequest = { system: [], messages: [], tools: [], maxOutputTokens: 1 };
  async function start() {
    clock.now = 0;
    asked = [];
    failure = undefined;
    const watch = createModelWatch({ log: silentLog, refusal: () => undefined, now: () => clock.now });
    const observed = watch.observe(provider);
    await watch.check(signal);
    const ask = async () => {
      for await (const event of observed.stream(turn, signal)) expect(event.type).toMatch(/end|error/);
    };
    return { watch, ask };
  }

  test("is asked with a tool and system text, as turns ask it", async () => {
    await start();
    expect(asked).toMatchObject([{ tools: [{ name: "current_time" }], maxOutputTokens: 16 }]);
    expect(asked[0]?.system[0]?.text).not.toBe("");
  });

  test("whose account may not spend is not asked again for an hour, but with another key at once", async () => {
    const { watch, ask } = await start();
    failure = failed("provider.spend-limit", { detail: "429 raise it at console.example" });
    await ask();
    const before = asked.length;
    expect(watch.checks()).toMatchObject([
      {
        state: "broken",
        tellsOwners: true,
        what: "failed with provider.spend-limit",
        forOwners: "failed with provider.spend-limit (the service says: raise it at console.example)",
      },
    ]);
    for (let minute = 0; minute < 59; minute++) {
      clock.now += 60_000;
      await watch.check(signal);
    }
    expect(asked).toHaveLength(before);
    digest = "two";
    await watch.check(signal);
    expect(asked).toHaveLength(before + 1);
    clock.now += 3_600_000;
    failure = undefined;
    await watch.check(signal);
    expect(watch.checks()).toMatchObject([{ state: "ok" }]);
  });

  test("that a service names a date for is asked every six hours until then", async () => {
    const { watch, ask } = await start();
    failure = failed("provider.spend-limit", { detail: "400 until then", retryAfterMs: 40 * 3_600_000 });
    await ask();
    expect(watch.checks()[0]?.what).toBe("failed with provider.spend-limit");
    const before = asked.length;
    clock.now += 6 * 3_600_000 - 1;
    await watch.check(signal);
    expect(asked).toHaveLength(before);
    clock.now += 1;
    await watch.check(signal);
    expect(asked).toHaveLength(before + 1);
  });

  test("that gets too many requests for half an hour may have a limit on spending, and owners are told", async () => {
    const { watch, ask } = await start();
    failure = failed("provider.rate-limited");
    await ask();
    expect(watch.checks()[0]?.tellsOwners).toBeUndefined();
    clock.now += 30 * 60_000;
    await watch.check(signal);
    expect(watch.checks()).toMatchObject([{ tellsOwners: true, why: expect.stringContaining("a limit on spending") }]);
  });

  test("that refuses a turn's request is asked by the next check, and is broken if it refuses that too", async () => {
    const { watch, ask } = await start();
    failure = failed("provider.bad-request");
    await ask();
    expect(watch.checks()).toMatchObject([
      { state: "ok" },
      { state: "warning", name: "requests a/m", tellsOwners: true },
    ]);
    await watch.check(signal);
    expect(watch.checks()).toMatchObject([{ state: "broken", what: "failed with provider.bad-request" }]);
  });
});

test("a model that works otherwise than the settings say needs attention, and the log says so once", async () => {
  const advice = [{ model: "a/m", what: "a/m refused this", todo: "Set that" }];
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, message: string) => void warned.push(message) };
  const watch = createModelWatch({ log, refusal: () => undefined });
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const observed = watch.observe({
    ...{ name: "a", model: "a/m", advice: () => advice },
    async *stream() {
      yield { type: "end", stop: "end", usage, model: "a/m" };
    },
  });
  const request: ModelRequest = { system: [], messages: [], tools: [], maxOutputTokens: 1 };
  for (const _turn of [1, 2])
    for await (const event of observed.stream(request, signal)) expect(event.type).toBe("end");
  expect(watch.checks()).toMatchObject([
    { name: "model a/m", state: "ok" },
    { name: "settings a/m", state: "warning", what: "a/m refused this", todo: "Set that" },
  ]);
  expect(warned).toEqual(["model: a/m refused this. Set that"]);
  expect(watch.isBroken()).toBe(false);
});

test("a check for which a model's server had no room says nothing about the model", async () => {
  const watch = createModelWatch({ log: silentLog, refusal: () => undefined });
  let isBusy = false;
  const observed = watch.observe({
    ...{ name: "a", model: "a/m" },
    async *stream() {
      const busy = new RemoraError({ code: "provider.busy", place: "provider a", message: "people first" });
      yield isBusy ? { type: "error", error: busy } : { type: "end", stop: "end", usage: noUsage, model: "a/m" };
    },
  });
  isBusy = true;
  await watch.check(signal);
  // A summary that made room.
  for await (const event of observed.stream(asking("x", { isBackground: true }), signal))
    expect(event.type).toBe("error");
  expect(watch.checks()).toMatchObject([{ state: "ok", what: "not asked yet" }]);
  isBusy = false;
  await watch.check(signal);
  expect(watch.checks()).toMatchObject([{ state: "ok", what: "a/m answers" }]);
});

test("where people chat, the demo model answers only if it is the only one named", async () => {
  const timeouts = { connectMs: 100, firstTokenMs: 100, idleMs: 100 };
  const none = {
    anthropic: { model: "m" },
    openai: { model: "m", api: "chat" as const },
    ollama: { host: "http://127.0.0.1:1", context: { promptTokens: 32_000, answerTokens: 16_000 } },
  };
  const select = (order: string[], preferred?: string) =>
    createProviders(
      { ...none, timeouts, order, refusesDemo: true, ...(preferred === undefined ? {} : { preferred }) },
      signal,
    );
  await expect(select(["anthropic", "openai", "demo"])).rejects.toThrow(
    /no model is set up .*set ANTHROPIC_API_KEY.*REMORA_MODEL=demo/,
  );
  expect((await select(["demo"])).providers.map(({ name }) => name)).toEqual(["demo"]);
  expect((await select(["anthropic", "demo"], "demo")).providers.map(({ name }) => name)).toEqual(["demo"]);
});
