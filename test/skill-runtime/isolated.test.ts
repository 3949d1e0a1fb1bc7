/** Plugins in processes of their own, without a sandbox around them: what is kept, what ends, and what is handed through. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { PluginServices } from "../../src/ports/plugin.ts";
import type { ToolScope } from "../../src/ports/tool.ts";
import { createUnconfinedLauncher } from "../../src/sandbox/plugin-launcher.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createIsolatedPlugins } from "../../src/skill-runtime/plugins/isolated/isolated-plugins.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

interface Options {
  fields?: string;
  maxIdleMs?: number;
  services?: PluginServices;
}

async function open(body: string, { fields = "", maxIdleMs = 60_000, services = {} }: Options = {}) {
  const root = await skillFolder({
    "demo/SKILL.md": skillText("demo", `tools: [{ name: act }]\n${fields}`),
    "demo/plugin.mjs": body,
  });
  const home = await temporaryFolder();
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const filesRoot = join(home, "files");
  const toolbox = createToolbox({
    ...{ library, log: silentLog, workspace: home, filesRoot, config: {} },
    dataFolder: join(home, "data"),
    servicesFor: () => services,
    isolated: createIsolatedPlugins({ launcher: createUnconfinedLauncher(), env: {}, log: silentLog, maxIdleMs }),
    isIsolated: () => true,
  });
  onTestFinished(async () => {
    await toolbox.close();
    await library.close();
  });
  const scope: ToolScope = {
    turnId: "turn-1",
    conversationId: "local:channel:general:t1",
    scope: "channel:general",
    requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
    workingFolder: join(filesRoot, "channel:general"),
  };
  const run = (input: JsonObject = {}, signal = new AbortController().signal) =>
    toolbox.run({ id: "call-1", name: "act", input }, scope, signal);
  const processes = () =>
    readdirSync("/proc").filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(join(root, "demo"));
      } catch {
        return false;
      }
    });
  return { root, home, library, toolbox, run, processes };
}

const executing = (body: string, more = "") =>
  `${more}\nexport default { async execute(tool, input, context) { ${body} } };`;

describe("the process", () => {
  test("ends when it was idle for long enough, and is started again by the next call", async () => {
    const { run, processes } = await open(executing("return String(process.pid);"), { maxIdleMs: 100 });
    const first = await run();
    await expect.poll(processes, { timeout: 10_000 }).toEqual([]);
    const second = await run();
    expect(second.isOk).toBe(true);
    expect(second.text).not.toBe(first.text);
  });

  test("runs init before the first call and destroy when it ends", async () => {
    const { run, home, toolbox, processes } = await open(`
      import { appendFileSync } from "node:fs";
      let note;
      export default {
        init(home) { note = (text) => appendFileSync(home.dataFolder + "/log.txt", text + " "); note("init"); },
        execute(tool) { note(tool); return "done"; },
        destroy() { note("destroy"); },
      };`);
    await Promise.all([run(), run()]);
    await toolbox.close();
    expect(readFileSync(join(home, "data/demo/log.txt"), "utf8")).toBe("init act act destroy ");
    expect(processes()).toEqual([]);
  });

  test("of a plugin that can't be loaded is an error with its reason, until the file is right", async () => {
    const { run, root } = await open("export default {");
    expect((await run()).text).toMatch(/SyntaxError|Unexpected/);
    await writeFile(join(root, "demo/plugin.mjs"), executing("return 'better now';"));
    expect(await run()).toMatchObject({ isOk: true, text: "better now" });
  });

  test("is told of an abort, and calls beside the stopped one go on", async () => {
    const { run } = await open(
      executing(
        "if (!input.isLong) { await new Promise((done) => setTimeout(done, 300)); return 'short'; } return await new Promise((_, fail) => context.signal.addEventListener('abort', () => fail(context.signal.reason)));",
      ),
    );
    const stopped = new AbortController();
    const [long, short] = [run({ isLong: true }, stopped.signal), run()];
    setTimeout(() => stopped.abort(), 100);
    expect((await long).text).toContain("was stopped before it finished");
    expect((await short).text).toBe("short");
  });

  test("that is stuck is ended, and the next call gets another one", async () => {
    const { run, home } = await open(
      executing(
        "if (input.isStuck) { writeFileSync(context.dataFolder + '/stuck', ''); for (;;); } return String(process.pid);",
        "import { writeFileSync } from 'node:fs';",
      ),
    );
    const { text: first } = await run();
    const stopped = new AbortController();
    const stuck = run({ isStuck: true }, stopped.signal);
    await expect.poll(() => existsSync(join(home, "data/demo/stuck")), { timeout: 10_000 }).toBe(true);
    stopped.abort();
    expect((await stuck).isOk).toBe(false);
    const next = await run();
    expect(next.isOk).toBe(true);
    expect(next.text).not.toBe(first);
  });
});

describe("results", () => {
  test.each([
    ["return { success: true, output: { a: 1n } };", "1n"],
    ["return { success: true, output: { a: [1] } };", '{"a":[1]}'],
    ["return undefined;", "(done, without output)"],
    ["return 7;", "neither text nor"],
    ["throw undefined;", "undefined"],
  ])("%s", async (body, expected) => {
    const { run } = await open(executing(body));
    expect((await run()).text).toContain(expected);
  });

  test("an error keeps what tells whether another attempt may go better", async () => {
    const code = `class Busy extends Error { code = "ECONNRESET"; }`;
    const passing = await open(executing("throw new Error('away', { cause: new Busy('reset') });", code));
    expect(await passing.run()).toMatchObject({ isOk: false, isRetryable: true });
    const final = await open(executing("throw new TypeError('wrong');"));
    expect(await final.run()).toMatchObject({ isOk: false, isRetryable: false });
  });
});

describe("what a call may use", () => {
  const memory = {
    remember: async (title: string) => `was ${title}`,
    recall: async () => [],
    forget: async () => false,
  };

  test("is what is declared: a service goes over the connection, its errors too", async () => {
    const { run } = await open(
      executing(
        "if (input.fails) return await context.memory.forget().catch((error) => error.code + ': ' + error.message); return await context.memory.remember('Colour', 'green');",
      ),
      {
        fields: "permissions: { memory: true }",
        services: {
          memory: {
            ...memory,
            forget: () => Promise.reject(Object.assign(new Error("not yours"), { code: "memory.not-owner" })),
          },
        },
      },
    );
    expect((await run()).text).toBe("was Colour");
    expect((await run({ fails: true })).text).toBe("memory.not-owner: not yours");
  });

  test("is nothing else, also for code that writes to the connection itself", async () => {
    const used: string[] = [];
    const { run } = await open(
      executing(`
        const socket = process._getActiveHandles().find((handle) => handle.constructor.name === "Socket" && !handle.isTTY && handle.writable && handle.readable);
        for (const [service, method] of [["memory", "remember"], ["chat", "post"], ["memory", "constructor"], ["commands", "run"]])
          socket.write(JSON.stringify({ type: "ask", id: 900, call: 1, service, method, args: ["title", "text"] }) + "\\n");
        await new Promise((done) => setTimeout(done, 200));
        return "tried";`),
      {
        services: {
          memory: {
            ...memory,
            remember: async (title) => {
              used.push(title);
              return undefined;
            },
          },
        },
      },
    );
    expect((await run()).text).toBe("tried");
    expect(used).toEqual([]);
  });

  test("what is no message ends the process and its call, and nothing else", async () => {
    const { run } = await open(
      executing(`
        if (!input.isBad) return "good";
        process._getActiveHandles().filter((handle) => handle.constructor.name === "Socket" && handle.readable).forEach((handle) => handle.write("nonsense\\n"));
        return await new Promise(() => {});`),
    );
    expect((await run({ isBad: true })).text).toContain("its message can't be read");
    expect((await run()).text).toBe("good");
  });
});
