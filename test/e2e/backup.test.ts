/**
 * `remora backup` and `remora restore` as real processes: while the agent answers and remembers, killed in the middle,
 * and with Redis. What was restored is started and read, by an agent within the test's process.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { verifyAudit } from "../../src/audit/verify.ts";
import { environmentOf, runCommand } from "../cli/remora-command.ts";
import { commandHere, remoraHere } from "../cli/remora-here.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

const project = resolve(import.meta.dirname, "../..");
/** So large that a backup or a restore takes long enough to be killed. */
const largeBytes = 48 * 1024 * 1024;

let home: RemoraHome;
let top: string;
let remora: RunningRemora;
let ann: ChatClient;

const run = (...args: string[]) => runCommand(project, environmentOf(top), ...args);
const namesNow = () => readdirSync(top);
const connect = async () => createChatClient(remora.url, remora.token);
const heard = (client: ChatClient, text: string) => client.waitFor((message) => message.text.includes(text));

/** Ends the command by SIGKILL as soon as the condition holds. */
async function killWhen(isTime: () => boolean, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, ["src/remora.mjs", ...args], {
    cwd: project,
    env: environmentOf(top),
    stdio: "ignore",
  });
  const ended = new Promise<string | null>((done) => child.once("exit", (_code, signal) => done(signal)));
  while (!isTime() && child.exitCode === null) await pause(1);
  child.kill("SIGKILL");
  expect(await ended).toBe("SIGKILL");
}

async function expectWhole(folder: string): Promise<void> {
  const audit = { folder: join(folder, "workspace", "brain", "corpus"), headsFolder: join(folder, "data", "audit") };
  expect((await verifyAudit(audit)).problems).toEqual([]);
}

describe("on SQLite", () => {
  beforeAll(async () => {
    home = await createHome();
    top = dirname(home.data);
    remora = await startRemora(home);
    ann = await connect();
  });
  afterAll(async () => {
    ann.close();
    await remora.stop();
    await home.remove();
  });

  test("a backup made while the agent answers and remembers can be started elsewhere", async () => {
    await ann.answerTo(await ann.say("@remora remember that the tea is green"));
    let isDone = false;
    const talking = (async () => {
      for (let count = 0; !isDone; count++) await ann.answerTo(await ann.say(`@remora hello number ${count}`));
    })();
    const made = await run("backup", join(top, "b.tar.gz"));
    isDone = true;
    await talking;
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const folder = join(top, "elsewhere");
    expect(await remoraHere(top, "restore", join(top, "b.tar.gz"), "--into", folder)).toMatchObject({
      code: 0,
      stderr: "",
    });
    await expectWhole(folder);
    const copy = await startRemora({
      workspace: join(folder, "workspace"),
      data: join(folder, "data"),
      remove: async () => {},
    });
    const reader = await createChatClient(copy.url, copy.token);
    await heard(reader, "hello number 0");
    const answer = await reader.answerTo(await reader.say('@remora call recall {"query":"tea"}'));
    expect(answer.text).toContain("green");
    reader.close();
    await copy.stop();
    await expectWhole(folder);
  });

  test("killed in the middle, a backup leaves no file, and the next one cleans up", async () => {
    await mkdir(join(home.workspace, "files", "dm:ann"), { recursive: true });
    await writeFile(join(home.workspace, "files", "dm:ann", "large"), randomBytes(largeBytes));
    const partial = () => namesNow().some((name) => name.startsWith("c.tar.gz.partial-"));
    await killWhen(partial, "backup", join(top, "c.tar.gz"));
    expect(namesNow()).not.toContain("c.tar.gz");
    expect(partial()).toBe(true);
    expect(await remoraHere(top, "backup", join(top, "c.tar.gz"), "--with-secrets")).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(partial()).toBe(false);
    expect(await remoraHere(top, "backup", join(top, "c.tar.gz"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("exists already"),
    });
  });

  test("a running agent is not restored over; a killed restore changes nothing; a whole one is in force", async () => {
    const file = join(top, "c.tar.gz");
    const refused = await run("restore", file, "--replace");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("is already using it") });
    await ann.answerTo(await ann.say("@remora hello after the backup"));
    ann.close();
    await remora.stop();
    expect((await remoraHere(top, "restore", file)).stderr).toContain(
      "has content already. To restore over it, add --replace",
    );
    expect((await remoraHere(top, "restore", join(top, "none.tar.gz"))).stderr).toMatch(
      /none\.tar\.gz\] does not exist\. Nothing/,
    );
    await killWhen(
      () => existsSync(join(home.workspace, ".remora-restore", "new", "files")),
      "restore",
      file,
      "--replace",
    );
    remora = await startRemora(home);
    ann = await connect();
    await heard(ann, "hello after the backup");
    ann.close();
    await remora.stop();

    const restored = await remoraHere(top, "restore", file, "--replace");
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    expect(restored.stdout).toContain("Start Remora now. It continues where the backup was made.");
    await expectWhole(top);
    const { token } = remora;
    remora = await startRemora(home);
    expect(remora.token).toBe(token);
    ann = await connect();
    await heard(ann, "hello number 0");
    await ann.answerTo(await ann.say("@remora hello again"));
    expect([...ann.seen.values()].some(({ text }) => text.includes("after the backup"))).toBe(false);
    const [aside = ""] = (await readdir(home.data)).filter((name) => name.startsWith("before-restore-"));
    expect(existsSync(join(home.data, aside, "ledger.db"))).toBe(true);
  });
});

describe.skipIf(missingRedis !== undefined)(`on Redis${redisNote}`, () => {
  test("what Redis held comes back in an empty Redis, and is never mixed with another's", async () => {
    home = await createHome();
    top = dirname(home.data);
    const server: RedisServer = await startRedisServer();
    const env = { REDIS_URL: server.url, REMORA_CONFIG: join(top, "remora.yaml") };
    await writeFile(env.REMORA_CONFIG, JSON.stringify({ safety: { shell: "ask" } }));
    const withRedis = (...args: string[]) => commandHere({ ...environmentOf(top), ...env }, args);
    try {
      remora = await startRemora(home, env);
      ann = await connect();
      await ann.answerTo(await ann.say("@remora remember that the tea is black"));
      const card = await ann.cardFor(await ann.say("@remora run echo tea"));
      expect(await withRedis("backup", join(top, "r.tar.gz"))).toMatchObject({ code: 0, stderr: "" });
      ann.close();
      await remora.stop();
      expect((await withRedis("restore", join(top, "r.tar.gz"), "--replace")).stderr).toContain(
        "Set another redis.prefix",
      );
      await server.client.flushall();
      expect((await remoraHere(top, "restore", join(top, "r.tar.gz"), "--replace")).stderr).toContain(
        "Set REDIS_URL to an empty Redis",
      );
      const restored = await withRedis("restore", join(top, "r.tar.gz"), "--replace");
      expect(restored).toMatchObject({ code: 0, stderr: "" });
      await expectWhole(top);
      remora = await startRemora(home, env);
      ann = await connect();
      const open = await ann.waitFor(({ id, state }) => id === card.id && state === "waiting");
      expect((await ann.click(open, "deny")).accepted).toBe(true);
      await vi.waitFor(() => expect(ann.seen.get(card.id)?.state).not.toBe("waiting"), { timeout: 20_000 });
    } finally {
      ann.close();
      await remora.stop();
      await server.dispose();
      await home.remove();
    }
  });
});
