import { randomInt } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import shell from "../../skills/shell/plugin.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { type BenchOptions, ben, noSandbox } from "../sandbox/draft/draft-bench.ts";
import { type DraftPlace, makeDraftPlace, makePlace, textOf } from "./place.ts";

type More = Parameters<DraftPlace["call"]>[4];

let place: DraftPlace;
const openPlace = async (options: BenchOptions = {}) => {
  place = await makeDraftPlace(options);
};
afterEach(() => place?.remove());

const call = (tool: string, input: JsonObject, more?: More) => place.call(shell, "shell", tool, input, more);
const run = (command: string, more?: More) => call("shell_exec", { command }, more);
const jobs = (input: JsonObject = {}, more: More = {}) => call("shell_jobs", input, { use: "none", ...more });
const fileIn = (...parts: string[]) => join(place.workingFolder, ...parts);
const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Neither the draft nor, when the turn has ended, the real folder has the file. */
async function expectNothingMade(): Promise<void> {
  expect((await run("ls")).text).not.toContain("made.txt");
  await place.end();
  expect(await exists(fileIn("made.txt"))).toBe(false);
  expect(place.bench.shown).toEqual([]);
}

/** Waits for what another process does, for as long as a loaded machine may take. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 90_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error("it did not happen within 90 s");
    await pause(100);
  }
}

/** How long the grandchild sleeps: nothing else on this machine does so for just as long. */
let nap: string;
beforeEach(() => {
  nap = `1000.${randomInt(1_000_000_000)}`;
});
const withGrandchild = () => `bash -c 'sleep ${nap} & wait' & wait`;

async function isAsleep(): Promise<boolean> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines.includes(`sleep\0${nap}\0`);
}
const untilGone = () => until(async () => !(await isAsleep()));

/** The same behaviour with and without the sandbox. */
describe.each([
  { where: "in the sandbox", options: (): BenchOptions => ({}), isDraft: true },
  { where: "without the sandbox", options: (): BenchOptions => ({ sandbox: noSandbox() }), isDraft: false },
])("a command $where", ({ options, isDraft }) => {
  beforeEach(() => openPlace(options()));

  test("gives its output and its exit code", async () => {
    expect(await run("echo one; echo two >&2; echo three")).toEqual({
      isOk: true,
      text: "one\ntwo\nthree\n\n(exit code 0)",
    });
    expect((await run("true")).text).toBe("(exit code 0, no output)");
  });

  test("fails with what it said when its exit code is not zero", async () => {
    expect(await run("echo bad >&2; exit 7")).toEqual({ isOk: false, text: "bad\n\n(exit code 7)" });
  });

  test("starts in the working folder, and what it writes there stays", async () => {
    expect((await run("pwd; echo hi > made.txt")).text).toContain(place.workingFolder);
    expect((await run("cat made.txt")).text).toContain("hi");
    await place.end();
    expect(await readFile(fileIn("made.txt"), "utf8")).toBe("hi\n");
  });

  test("gets nothing of this process's environment", async () => {
    vi.stubEnv("REMORA_TEST_SECRET", "hunter2");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { text } = await run("env");
    expect(text).toMatch(/^PATH=/m);
    expect(text).not.toContain("hunter2");
    const ours = Object.keys(process.env).filter((name) => /^(?:npm_|VITEST|REMORA|ANTHROPIC)/.test(name));
    const names = [...text.matchAll(/^(\w+)=/gm)].map((match) => match[1] ?? "");
    expect(names.filter((name) => ours.includes(name))).toEqual([]);
  });

  test("has no input to wait for", async () => {
    expect((await run("cat; read x; echo done")).text).toContain("done");
  });

  test("is ended with its grandchildren when its time is up, and what it said is kept", async () => {
    const { isOk, text } = await run(`echo started; ${withGrandchild()}`, { config: { seconds: 2 } });
    expect(isOk).toBe(false);
    expect(text).toMatch(/^started\n\n\(stopped after 2 s/);
    await untilGone();
  });

  test("is ended with its grandchildren when the turn is stopped", async () => {
    const abort = new AbortController();
    const running = run(withGrandchild(), { signal: abort.signal });
    await until(isAsleep);
    abort.abort();
    expect((await running).text).toContain("stopped before it finished");
    await untilGone();
  });

  test("does not go on in what it left running", async () => {
    expect((await run(`sleep ${nap} & echo started`)).text).toContain("started");
    await untilGone();
  });

  test("may write more than anyone reads: beginning and end are kept, and what is missing is said", async () => {
    const { text } = await run("seq 1 300000");
    expect(text.length).toBeLessThan(300_000);
    expect(text).toMatch(/^1\n2\n3\n/);
    expect(text).toMatch(/\[… [\d,]+ bytes of output left out …\]/);
    expect(text).toMatch(/\n299999\n300000\n\n\(exit code 0\)$/);
  });

  test(`is ended when it floods${isDraft ? ", and what it changed is lost" : ""}`, async () => {
    const { isOk, text } = await run("echo half > made.txt; yes flood");
    expect(isOk).toBe(false);
    expect(text.length).toBeLessThan(300_000);
    expect(text).toContain("more than 64 MiB");
    if (isDraft) await expectNothingMade();
  });

  test("may write bytes that are no text, and colours", async () => {
    const { text } = await run("printf '\\033[31mred\\033[0m \\377\\376'; head -c 2000 /dev/urandom");
    expect(text).toContain("red ");
  });

  test("can't be empty, and can't contain NUL", async () => {
    for (const command of ["", "  \n"])
      expect(await run(command)).toEqual({ isOk: false, text: expect.stringContaining("empty") });
    expect((await run("echo a\0b")).text).toContain("NUL");
  });

  test("may have many lines, quotes and any characters; one that can't be parsed says so", async () => {
    expect((await run("cat <<'E'\n\"$x\" 'y' ❤ \\n\nE\necho \"two\"")).text).toContain("\"$x\" 'y' ❤ \\n\ntwo");
    expect(await run("if then")).toEqual({ isOk: false, text: expect.stringMatching(/syntax error[\s\S]*exit code/) });
  });
});

describe("in the sandbox", () => {
  beforeEach(() => openPlace());

  test("nothing reaches the real folder before the turn ends", async () => {
    await run("echo hi > made.txt");
    expect(await exists(fileIn("made.txt"))).toBe(false);
  });

  test.each([
    ["its time is up", "echo half > made.txt; sleep 30", { config: { seconds: 2 } }],
    ["it kills itself", "echo half > made.txt; kill -9 $$", {}],
  ])("what a command changed is lost when %s, and its result says so", async (_why, command, more) => {
    const { isOk } = await run(command, more);
    expect(isOk).toBe(false);
    await expectNothingMade();
  });

  test("what a command changed before a non-zero exit joins the draft", async () => {
    await run("echo half > made.txt; exit 3");
    expect((await run("cat made.txt")).text).toContain("half");
  });

  test("a command that needs the network fails with a way to ask for it", async () => {
    const { isOk, text } = await run("bash -c 'exec 3<>/dev/tcp/example.com/80'");
    expect(isOk).toBe(false);
    expect(text).toMatch(/network/);
  });

  test("hosts that can't be read are refused before anything runs", async () => {
    await expect(run("touch ran", { network: ["not a host/../x"] })).rejects.toThrow(/host/i);
    await place.end();
    expect(await exists(fileIn("ran"))).toBe(false);
  });
});

describe("where the sandbox does not hold", () => {
  test("nothing runs when the settings require it, in the foreground or as a job", async () => {
    await openPlace({ sandbox: noSandbox(), unconfinedRefusal: "Nothing was run: the settings require a sandbox." });
    await expect(run("touch ran")).rejects.toThrow(/Nothing was run/);
    await expect(call("shell_exec", { command: "touch ran", background: true })).rejects.toThrow(/Nothing was run/);
    expect(await exists(fileIn("ran"))).toBe(false);
  });

  test("a process without commands says so", async () => {
    const bare = await makePlace();
    onTestFinished(() => bare.remove());
    for (const tool of ["shell_exec", "shell_jobs"]) {
      const result = await shell.execute(tool, { command: "ls" }, bare.context("shell"));
      expect(textOf(result)).toContain("Commands are not available here");
    }
  });
});

describe.each([
  { where: "in the sandbox", options: (): BenchOptions => ({}), isDraft: true },
  { where: "without the sandbox", options: (): BenchOptions => ({ sandbox: noSandbox() }), isDraft: false },
])("a job $where", ({ options, isDraft }) => {
  beforeEach(() => openPlace(options()));

  async function start(command: string, more?: More) {
    const { isOk, text } = await call("shell_exec", { command, background: true }, more);
    return { isOk, text, id: /Job (\w+) runs/.exec(text)?.[1] ?? "" };
  }
  const logOf = async (id: string) => (await jobs({ read: id })).text;
  const logSays = (id: string, what: string) => until(async () => (await logOf(id)).includes(what));

  test("goes on after the answer; its log has its output and how it ended", async () => {
    const { isOk, id } = await start("echo begun; sleep 1; echo ended; exit 3");
    expect(isOk).toBe(true);
    // The log says it a moment before the job's line does.
    await expect.poll(() => logOf(id)).toMatch(/^\w+: exit code 3; echo begun.*\n\nbegun\nended\n\n\[exit code 3\]\n$/);
  });

  test("does not end with the signal of the call that started it", async () => {
    const abort = new AbortController();
    const { id } = await start("sleep 1; echo ended", { signal: abort.signal });
    abort.abort();
    await logSays(id, "ended");
  });

  test("is listed and can be read and stopped, with its children, by its own conversation only", async () => {
    const { id } = await start(withGrandchild());
    await until(isAsleep);
    expect((await jobs()).text).toMatch(new RegExp(`^${id}: running for \\d+ s`));
    const turn = await place.bench.startTurn("test:given");
    expect((await jobs({}, { turn })).text).toBe("This conversation has no jobs.");
    for (const input of [{ stop: id }, { read: id }])
      expect(await jobs(input, { turn })).toEqual({ isOk: false, text: expect.stringContaining("no job") });
    expect(await jobs({ stop: id })).toEqual({ isOk: true, text: expect.stringContaining(`${id}: stopped`) });
    expect(await logOf(id)).toContain("[stopped; its changes were discarded]");
    await untilGone();
  });

  test("is one of at most three of its conversation and four of a person", async () => {
    for (let count = 0; count < 3; count += 1) expect((await start("sleep 30")).isOk).toBe(true);
    const { isOk, text } = await start("sleep 30");
    expect(isOk).toBe(false);
    expect(text).toContain("3 jobs of this conversation are already running");
    const turn = await place.bench.startTurn("test:given");
    expect((await start("sleep 30", { turn })).isOk).toBe(true);
    expect((await start("sleep 30", { turn })).text).toContain("Ann already has 4 jobs running");
    expect((await start("sleep 30", { turn, by: ben })).isOk).toBe(true);
  });

  test("ends when the process does", async () => {
    await start(withGrandchild());
    await until(isAsleep);
    await place.bench.drafts.close();
    await untilGone();
  });

  test("that floods is stopped and says so", async () => {
    const { id } = await start("yes flood");
    await logSays(id, "it wrote more than 16 MiB");
  });

  test.runIf(isDraft)("works on the draft as it was, and its changes join when it has ended", async () => {
    await run("echo before > a.txt");
    const { id } = await start("cat a.txt; sleep 1; echo done > b.txt");
    await run("echo later > a.txt");
    await logSays(id, "[exit code 0]");
    expect(await logOf(id)).toContain("before\n");
    await until(async () => (await run("ls")).text.includes("b.txt"));
    expect((await run("cat a.txt b.txt")).text).toContain("later\ndone");
    await place.end();
    expect(await readFile(fileIn("b.txt"), "utf8")).toBe("done\n");
  });

  test.runIf(isDraft)("that was stopped leaves nothing", async () => {
    const { id } = await start(`echo half > a.txt; ${withGrandchild()}`);
    await until(isAsleep);
    await jobs({ stop: id });
    await place.end();
    expect(await exists(fileIn("a.txt"))).toBe(false);
  });
});

test("a file that is written while the turn goes on is seen by its commands", async () => {
  await openPlace();
  await writeFile(fileIn("a.txt"), "by hand\n");
  expect((await run("cat a.txt")).text).toContain("by hand");
});
