/**
 * Isolated plugins in the real process: what their code can do without declarations and with them, and what happens to the rest
 * when a plugin's process dies.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { startRemora as startHere } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora,
} from "../doubles/remora-process.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Tries what the input says, and returns the outcome. */
const plugin = `
import { execFileSync } from "node:child_process";
import { appendFile, readFile, writeFile, symlink } from "node:fs/promises";
import { readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { createSocket } from "node:dgram";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

const tries = {
  read: ({ path }) => readFile(path, "utf8"),
  list: ({ path }) => readdirSync(path).join(" "),
  write: ({ path }) => writeFile(path, "written").then(() => "written"),
  link: ({ path, to }) => symlink(to, path).then(() => readFile(path, "utf8")),
  env: () => JSON.stringify(process.env),
  command: () => execFileSync("/bin/sh", ["-c", "echo ran; id"]).toString(),
  worker: () => new Promise((resolve, reject) => {
    const worker = new Worker("require('node:worker_threads').parentPort.postMessage('worked')", { eval: true });
    worker.once("message", resolve);
    worker.once("error", reject);
  }),
  binding: () => Object.keys(process.binding("fs")).join(" "),
  fetch: ({ url }) => fetch(url, { signal: AbortSignal.timeout(3000) }).then((answer) => answer.text()),
  tcp: ({ host, port }) => new Promise((resolve, reject) => {
    const socket = connect({ host, port }, () => resolve("connected"));
    socket.once("error", reject);
  }),
  udp: ({ host, port }) => new Promise((resolve, reject) => {
    createSocket("udp4").send("leak", port, host, (error) => (error ? reject(error) : resolve("sent")));
  }),
  pid: () => String(process.pid),
  count: (_input, context) => String((globalThis.count = (globalThis.count ?? 0) + 1)),
  exit: () => process.exit(3),
  hang: () => { for (;;); },
  wait: (_input, { signal, dataFolder }) => writeFileSync(join(dataFolder, "waiting"), "") ?? new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  raw: async ({ line, times, seconds }) => {
    const socket = process._getActiveHandles().find((handle) => handle._handle?.fd > 2);
    const end = Date.now() + seconds * 1000;
    do if (!socket.write((line + "\\n").repeat(times))) await new Promise((resolve) => socket.once("drain", resolve)); while (Date.now() < end);
    return "said";
  },
  longLog: () => tries.raw({ line: '{"type":"log","level":"info","message":"","fields":{"a":[' + "0,".repeat(5e6) + "0]}}", times: 1, seconds: 0 }),
  big: () => "x".repeat(5_000_000) + " the end",
  throw: () => { throw new TypeError("thrown on purpose"); },
  answer: () => ({ success: false, output: "", error: "no, for a reason" }),
  services: (_input, context) => Object.keys(context).sort().join(" "),
  config: (_input, { config }) => config.greeting,
  data: ({ path }, { dataFolder }) => writeFile(join(dataFolder, path), "kept").then(() => readFile(join(dataFolder, path), "utf8")),
  here: ({ path, text }, { workingFolder }) => appendFile(join(workingFolder, path), text).then(() => readFile(join(workingFolder, path), "utf8")),
  see: ({ path }, { workingFolder }) => readFile(join(workingFolder, path), "utf8"),
  file: ({ path }) => ({ success: true, output: "here it is", files: [{ name: "it.txt", path, mimeType: "text/plain" }] }),
  remember: async (_input, { memory }) => { await memory.remember("Colour", "The colour is green."); return "noted"; },
  run: async (_input, { commands }) => {
    const running = await commands.run("echo from a shell > made.txt; cat made.txt");
    let text = "";
    for await (const chunk of running.output) text += chunk;
    return text + JSON.stringify(await running.ended);
  },
};

export default {
  async execute(_tool, input, context) {
    try {
      return await tries[input.what](input, context);
    } catch (thrown) {
      if (input.what === "throw" || input.isThrown) throw thrown;
      return "FAILED " + (thrown.code ?? thrown.name) + ": " + thrown.message;
    }
  },
};
`;

function skillFile(name: string, more: string): string {
  const tool = (suffix: string, folder: string) => `
  - { name: ${name}_${suffix}, description: Tries something., folder: ${folder}, timeout: ${suffix === "short" ? 1 : 20}, parameters: { type: object } }`;
  return `---\nname: ${name}\ndescription: Tries.\nversion: 1.0.0\n${more}tools:${tool("try", "none")}${tool("draft", "write")}${tool("short", "none")}\n---\nUse it.\n`;
}

let home: RemoraHome;
let remora: RemoraProcess;
let model: CallingModel;
let ann: ChatClient;
let server: Server;
let port: number;
let hits: string[] = [];

async function addSkill(name: string, more = "", code = plugin): Promise<string> {
  const folder = join(home.workspace, "skills", name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "plugin.mjs"), code);
  await writeFile(join(folder, "SKILL.md"), skillFile(name, more));
  return folder;
}

beforeAll(async () => {
  [home, model] = await Promise.all([createHome(), startCallingModel()]);
  hits = [];
  server = createServer((request, response) => {
    hits.push(request.url ?? "");
    response.end("reached");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.3", resolve));
  ({ port } = server.address() as AddressInfo);
  await addSkill("bare");
  await addSkill(
    "declared",
    `permissions: { files: write, network: ["127.0.0.3:${port}"], env: [GIVEN_VALUE], commands: true, memory: true }\n`,
  );
  await addSkill("reader", "permissions: { files: read }\n");
  const config = join(dirname(home.data), "remora.yaml");
  const skills = { settings: { bare: { greeting: "hello from the settings" } } };
  await writeFile(config, JSON.stringify({ skills, sandbox: { network: { allow: ["127.0.0.0/8"] } } }));
  remora = await startRemora(home, {
    REMORA_CONFIG: config,
    ANTHROPIC_API_KEY: "canary-key",
    ANTHROPIC_BASE_URL: model.url,
    GIVEN_VALUE: "given to the plugin",
    OTHER_VALUE: "canary-other",
  });
  ann = await createChatClient(remora.url, remora.token);
  await mkdir(join(home.workspace, "files/channel:general"), { recursive: true });
  await writeFile(join(home.workspace, "files/channel:general/notes.txt"), "what the notes say");
});
afterAll(async () => {
  ann.close();
  await remora.kill();
  await model.close();
  server.close();
  await home.remove();
});

const say = (tool: string, input: object) => ann.say(`@remora call ${tool} ${JSON.stringify(input)}`);
const textOf = ({ text }: SeenMessage) => /<tool_result[^>]*>\n([\s\S]*?)\n<\/tool_result>/.exec(text)?.[1] ?? text;
const attempt = async (tool: string, input: object) => textOf(await ann.answerTo(await say(tool, input)));

/** Plugin processes, by their arguments. */
function pluginProcesses(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return (
          words.some((word) => word.endsWith("plugin-runner.mjs")) &&
          words.includes(`--allow-fs-write=${join(home.data, "skills/bare")}`)
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

describe("a plugin that declares nothing", () => {
  test("runs without a question, with its settings and its own data folder", async () => {
    expect(await attempt("bare_try", { what: "config" })).toBe("hello from the settings");
    expect(await attempt("bare_try", { what: "data", path: "mine.txt" })).toBe("kept");
    expect(await readFile(join(home.data, "skills/bare/mine.txt"), "utf8")).toBe("kept");
  });

  test.each([
    ["Remora's own data", () => join(home.data, "page-token")],
    ["the configuration", () => join(dirname(home.data), "remora.yaml")],
    ["the working folder", () => join(home.workspace, "files/channel:general/notes.txt")],
    ["another skill's code", () => join(home.workspace, "skills/declared/plugin.mjs")],
    ["the machine's users", () => "/etc/passwd"],
    ["another process's environment", () => `/proc/${remora.pid}/environ`],
    ["its own process's environment", () => "/proc/self/environ"],
  ])("can't read %s", async (_what, path) => {
    expect(await attempt("bare_try", { what: "read", path: path() })).toMatch(/^FAILED (ERR_ACCESS_DENIED|ENOENT)/);
  });

  test("gets an error that explains how to declare what it lacks", async () => {
    const text = await attempt("bare_try", { what: "read", path: "/etc/passwd", isThrown: true });
    expect(text).toContain("does not declare this under `permissions`. Tell the operator");
  });

  test("can't write or link outside its data folder", async () => {
    expect(await attempt("bare_try", { what: "write", path: join(home.workspace, "skills/bare/plugin.mjs") })).toMatch(
      /^FAILED/,
    );
    const link = join(home.data, "skills/bare/way-out");
    expect(await attempt("bare_try", { what: "link", path: link, to: join(home.data, "page-token") })).toMatch(
      /^FAILED/,
    );
  });

  test("sees no variable of Remora's environment", async () => {
    const env = await attempt("bare_try", { what: "env" });
    expect(env).toContain("PATH");
    expect(env).not.toMatch(/canary|given to the plugin|REMORA_|ANTHROPIC/);
  });

  test.each(["command", "worker", "binding"])("can't use a %s", async (what) => {
    expect(await attempt("bare_try", { what })).toMatch(/^FAILED (ERR_ACCESS_DENIED|ERR_INVALID)/);
  });

  test("reaches no web server, socket, datagram or name server", async () => {
    expect(await attempt("bare_try", { what: "fetch", url: `http://127.0.0.3:${port}/bare` })).toMatch(/^FAILED/);
    expect(await attempt("bare_try", { what: "tcp", host: "127.0.0.3", port })).toMatch(/^FAILED ECONNREFUSED/);
    expect(await attempt("bare_try", { what: "udp", host: "192.0.2.1", port: 53 })).toMatch(/^FAILED ENETUNREACH/);
    expect(await attempt("bare_try", { what: "fetch", url: `${remora.url}/healthz` })).toMatch(/^FAILED/);
    expect(hits).toEqual([]);
  });

  test("has no memory, chat, schedules or commands, and can't return files that it can't read", async () => {
    const services = (await attempt("bare_try", { what: "services" })).split(" ");
    expect(services).toContain("ask");
    for (const name of ["memory", "chat", "schedules", "commands", "jobs", "skills"])
      expect(services).not.toContain(name);
    for (const path of ["notes.txt", join(home.data, "page-token"), "../page-token"]) {
      const said = await say("bare_try", { what: "file", path });
      expect((await ann.answerTo(said)).text).toContain("was left out");
    }
  });

  test("returns long results, answers and errors like a plugin inside Remora", async () => {
    expect(await attempt("bare_try", { what: "big" })).toContain("the end");
    expect(await attempt("bare_try", { what: "answer" })).toContain("no, for a reason");
    expect(await attempt("bare_try", { what: "throw" })).toContain("thrown on purpose");
  });
});

describe("the process of a plugin", () => {
  test("serves further calls, and is replaced when the code changes", async () => {
    const first = Number(await attempt("bare_try", { what: "count" }));
    expect(Number(await attempt("bare_try", { what: "count" }))).toBe(first + 1);
    const folder = await addSkill("bare", "", plugin.replace("?? 0", "?? 100"));
    await utimes(join(folder, "plugin.mjs"), new Date(), new Date());
    expect(await attempt("bare_try", { what: "count" })).toBe("101");
  });

  test("only fails its own call when it exits or is killed, and the next call works", async () => {
    expect(await attempt("bare_try", { what: "exit" })).toMatch(/its process ended before the call was done/);
    expect(await attempt("bare_try", { what: "config" })).toBe("hello from the settings");
    const waiting = await say("bare_try", { what: "wait" });
    await expect.poll(() => existsSync(join(home.data, "skills/bare/waiting")), { timeout: 20_000 }).toBe(true);
    for (const pid of pluginProcesses()) process.kill(pid, "SIGKILL");
    expect((await ann.answerTo(waiting)).text).toMatch(/its process ended/);
    expect(await attempt("bare_try", { what: "config" })).toBe("hello from the settings");
  });
});

test("a plugin that never yields fails its own call and is ended", async () => {
  const stuck = await say("bare_short", { what: "hang" });
  expect((await ann.request("GET", "/healthz")).status).toBe(200);
  expect((await ann.answerTo(stuck)).text).toMatch(/longer than|was stopped|time/);
  expect(await attempt("bare_try", { what: "config" })).toBe("hello from the settings");
});

test("a plugin that floods messages stalls nobody", async () => {
  expect(await attempt("bare_try", { what: "longLog" })).toMatch(/a message other than a result has more than|MiB/);
  const line = JSON.stringify({ type: "log", level: "error", message: "again", fields: {} });
  const flood = await say("bare_try", { what: "raw", line, times: 5_000, seconds: 2 });
  let [isOver, answeredMeanwhile] = [false, 0];
  const answer = ann.answerTo(flood).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    expect((await ann.request("GET", "/healthz")).status).toBe(200);
    if (!isOver) answeredMeanwhile += 1;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect((await answer).text).toContain("said");
  // Messages are read in turns, so a flood can't delay others until its end.
  expect(answeredMeanwhile).toBeGreaterThan(2);
  expect(remora.stderr().split('"again"').length).toBeLessThan(1_000);
});

describe("a plugin that declares what it needs", () => {
  test("asks once, at its first use, with the declaration on the card", async () => {
    const said = await say("declared_try", { what: "env" });
    const card = await ann.cardFor(said);
    const shown = JSON.stringify(card);
    for (const words of [
      "First use of the skill declared",
      "changes files",
      `127.0.0.3:${port}`,
      "GIVEN_VALUE",
      "runs programs",
      "remembered",
    ])
      expect(shown).toContain(words);
    await ann.click(card, "approve");
    const env = (await ann.answerTo(said)).text;
    expect(env).toContain("given to the plugin");
    expect(env).not.toContain("canary");
    expect(await attempt("declared_try", { what: "pid" })).toMatch(/^\d+$/);
  });

  test("reaches only the hosts that it names", async () => {
    expect(await attempt("declared_try", { what: "fetch", url: `http://127.0.0.3:${port}/declared` })).toBe("reached");
    expect(hits).toEqual(["/declared"]);
    const other = createTcpServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.4", resolve));
    const { port: otherPort } = other.address() as AddressInfo;
    expect(await attempt("declared_try", { what: "fetch", url: `http://127.0.0.4:${otherPort}/` })).not.toBe("reached");
    other.close();
  });

  test("works on an ordinary draft, and runs programs in it", async () => {
    const said = await say("declared_draft", { what: "here", path: "notes.txt", text: ", and more" });
    expect((await ann.answerTo(said)).text).toContain("what the notes say, and more");
    await ann.changesFor(said);
    expect(await readFile(join(home.workspace, "files/channel:general/notes.txt"), "utf8")).toBe(
      "what the notes say, and more",
    );
    expect(await attempt("declared_draft", { what: "run" })).toMatch(/from a shell.*"exitCode":0/s);
    expect(await attempt("declared_draft", { what: "read", path: join(home.data, "page-token") })).toMatch(/^FAILED/);
  });

  test("returns files of the working folder, and uses its conversation's memory", async () => {
    const answer = await ann.answerTo(await say("declared_draft", { what: "file", path: "notes.txt" }));
    expect(answer.text).toContain("here it is");
    expect(answer.text).not.toContain("left out");
    expect(await attempt("declared_try", { what: "remember" })).toBe("noted");
    const notes = readdirSync(join(home.workspace, "brain/hippocampus/knowledge"), { recursive: true }).join(" ");
    expect(notes).toMatch(/colour/i);
  });

  test("can't write when it only declares reading", async () => {
    const said = await say("reader_draft", { what: "see", path: "notes.txt" });
    await ann.click(await ann.cardFor(said), "approve");
    expect((await ann.answerTo(said)).text).toContain("what the notes say");
    expect(await attempt("reader_try", { what: "see", path: "notes.txt" })).toContain("what the notes say");
    expect(await attempt("reader_draft", { what: "here", path: "notes.txt", text: "!" })).toMatch(
      /^FAILED ERR_ACCESS_DENIED/,
    );
    expect(await attempt("reader_try", { what: "here", path: "notes.txt", text: "!" })).toMatch(/^FAILED/);
  });
});

describe("without a sandbox", () => {
  let other: RunningRemora;
  let ben: ChatClient;

  beforeAll(async () => {
    ann.close();
    await remora.kill();
    const config = join(dirname(home.data), "unconfined.yaml");
    await writeFile(config, JSON.stringify({ safety: { sandbox: "off" } }));
    other = await startHere(home, {
      REMORA_CONFIG: config,
      ANTHROPIC_API_KEY: "canary-key",
      ANTHROPIC_BASE_URL: model.url,
    });
    ben = await createChatClient(other.url, other.token);
  });
  afterAll(async () => {
    ben.close();
    await other.stop();
  });

  test("Node's permission model still keeps files, programs, workers and the environment from a plugin", async () => {
    vi.stubEnv("REMORA_CANARY", "canary");
    const tried = async (input: object) =>
      textOf(await ben.answerTo(await ben.say(`@remora call bare_try ${JSON.stringify(input)}`)));
    expect(await tried({ what: "data", path: "mine.txt" })).toBe("kept");
    for (const path of [join(home.data, "page-token"), "/etc/passwd", `/proc/${process.pid}/environ`])
      expect(await tried({ what: "read", path })).toMatch(/^FAILED ERR_ACCESS_DENIED/);
    for (const what of ["command", "worker", "binding"])
      expect(await tried({ what })).toMatch(/^FAILED ERR_ACCESS_DENIED/);
    expect(await tried({ what: "env" })).not.toMatch(/canary|REMORA_/);
  });
});
