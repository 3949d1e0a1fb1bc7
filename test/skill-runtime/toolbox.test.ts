import { mkdir, readFile, rm, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { ToolScope } from "../../src/ports/tool.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createToolbox, type ToolboxConfig, type ToolboxOptions } from "../../src/skill-runtime/toolbox.ts";
import { skillFolder, skillText, temporaryFolder, writeFiles } from "./folders.ts";

async function openToolbox(
  files: { [path: string]: string },
  config: ToolboxConfig = {},
  more: Partial<ToolboxOptions> = {},
) {
  const root = await skillFolder(files);
  const home = await temporaryFolder();
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const filesRoot = join(home, "files");
  const toolbox = createToolbox({
    library,
    log: silentLog,
    workspace: home,
    filesRoot,
    dataFolder: join(home, "data"),
    config,
    ...more,
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
  const run = (
    name: string,
    input: JsonObject = {},
    signal = new AbortController().signal,
    where: Partial<ToolScope> = {},
  ) => toolbox.run({ id: "call-1", name, input }, { ...scope, ...where }, signal);
  return { root, home, library, toolbox, scope, run };
}

/** A skill `demo` with one tool `act`, whose plugin is the given source. */
const withPlugin = (source: string, file = "plugin.mjs") => ({
  "demo/SKILL.md": skillText("demo", "tools: [{ name: act }]"),
  [`demo/${file}`]: source,
});
const acting = (body: string) => withPlugin(`export default { async execute(tool, input, context) { ${body} } };`);

describe("routing", () => {
  test("a call reaches the plugin with its input and who asks, where", async () => {
    const { run, home, root } = await openToolbox(
      acting(
        "const { signal, log, skills, ...rest } = context; return JSON.stringify({ tool, input, rest, isLive: !signal.aborted && typeof log.info });",
      ),
      { settings: { demo: { key: "value" } } },
    );
    const { isOk, text } = await run("act", { a: [1] });
    expect(isOk).toBe(true);
    expect(JSON.parse(text)).toEqual({
      tool: "act",
      input: { a: [1] },
      isLive: "function",
      rest: {
        workspace: home,
        skillFolder: join(root, "demo"),
        outputsFolder: expect.stringMatching(/\/outputs$/),
        dataFolder: join(home, "data", "demo"),
        config: { key: "value" },
        workingFolder: join(home, "files", "channel:general"),
        scope: "channel:general",
        conversationId: "local:channel:general:t1",
        turnId: "turn-1",
        requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
        isTainted: false,
        givenAddresses: [],
      },
    });
  });

  test("the data folder and a working folder below the files are there when the plugin runs", async () => {
    const source = `
      import { statSync } from "node:fs";
      export default { execute: (tool, input, context) => String(statSync(context.workingFolder).isDirectory() && statSync(context.dataFolder).isDirectory()) };`;
    const { run, home } = await openToolbox(withPlugin(source));
    expect((await run("act")).text).toBe("true");
    const elsewhere = { workingFolder: join(home, "checkout") };
    expect(await run("act", {}, undefined, elsewhere)).toMatchObject({
      isOk: false,
      isRetryable: false,
      text: expect.stringContaining("checkout"),
    });
    await mkdir(elsewhere.workingFolder);
    expect((await run("act", {}, undefined, elsewhere)).text).toBe("true");
  });

  test("TypeScript, JavaScript in both module systems, and the other common shape are plugins", async () => {
    const typed = "const answer: string = 'typed'; export default { execute: (): string => answer };";
    const { run } = await openToolbox({
      ...withPlugin(typed, "plugin.ts"),
      "cjs/SKILL.md": skillText("cjs", "tools: [{ name: old }]"),
      "cjs/plugin.js": "module.exports = { execute: () => 'old' };",
      "other/SKILL.md": skillText("other", "tools: [{ name: look }]"),
      "other/plugin/index.mjs":
        "export default { name: 'other', tools: [], prefix: 'saw ', async execute(tool, args, signal) { return { success: true, output: this.prefix + args.what + (signal instanceof AbortSignal) }; } };",
    });
    expect((await run("act")).text).toBe("typed");
    expect((await run("old")).text).toBe("old");
    expect((await run("look", { what: "sea " })).text).toBe("saw sea true");
  });

  test("a tool with a repaired name is called by the name its author wrote", async () => {
    const { run, toolbox } = await openToolbox({
      "demo/SKILL.md": skillText("demo", 'tools: [{ name: "my.act" }]'),
      "demo/plugin.mjs": "export default { execute: (tool) => tool };",
    });
    expect(toolbox.specs("any").map(({ name }) => name)).toEqual(["load_skill", "my_act"]);
    expect((await run("my_act")).text).toBe("my.act");
  });

  test("of two tools with one name the later skill's runs, and one definition is offered", async () => {
    const { run, toolbox } = await openToolbox({
      "a/SKILL.md": skillText("a", "tools: [{ name: act, description: A }]"),
      "a/plugin.mjs": "export default { execute: () => 'a' };",
      "b/SKILL.md": skillText("b", "tools: [{ name: act, description: B }]"),
      "b/plugin.mjs": "export default { execute: () => 'b' };",
    });
    expect(toolbox.specs("any").filter(({ name }) => name === "act")).toMatchObject([{ description: "B", skill: "b" }]);
    expect((await run("act")).text).toBe("b");
  });

  test("a tool that is not there, or has no code, is a failed attempt that says so", async () => {
    const { run } = await openToolbox({ "a/SKILL.md": skillText("a", "tools: [{ name: act }]") });
    expect(await run("nothing")).toMatchObject({
      isOk: false,
      isRetryable: false,
      text: expect.stringContaining("no tool called nothing"),
    });
    expect(await run("act")).toMatchObject({
      isOk: false,
      isRetryable: false,
      text: expect.stringContaining("plugin.ts"),
    });
  });

  test("what comes back is redacted, failures too", async () => {
    const { run } = await openToolbox(
      acting("if (input.fail) throw new Error('key hunter22'); return 'key hunter22';"),
      {},
      {
        redact: (text) => text.replaceAll("hunter22", "[redacted]"),
      },
    );
    expect((await run("act")).text).toBe("key [redacted]");
    expect((await run("act", { fail: true })).text).toContain("key [redacted]");
  });
});

describe("who may use a skill where", () => {
  const files = {
    "a/SKILL.md": skillText("a", "tools: [{ name: act }]\ndanger_patterns: [x]"),
    "a/plugin.mjs": "export default { execute: () => 'a' };",
    "b/SKILL.md": skillText("b", "tools: [{ name: act }]"),
    "b/plugin.mjs": "export default { execute: () => 'b' };",
  };
  const toolsOf = (specs: { name: string; skill: string }[]) => specs.map(({ name, skill }) => `${skill} ${name}`);

  test("deny goes before allow, and a channel's filter holds for its threads", async () => {
    const conversations = { "local:channel:general": { deny: ["b"] }, "local:channel:quiet": { allow: [] } };
    const { toolbox, run } = await openToolbox(files, { allow: ["a", "b"], conversations });
    expect(toolsOf(toolbox.specs("local:channel:general:t1"))).toEqual(["remora load_skill", "a act"]);
    expect(toolsOf(toolbox.specs("local:channel:generally"))).toEqual(["remora load_skill", "b act"]);
    expect(toolsOf(toolbox.specs("local:channel:quiet"))).toEqual(["remora load_skill"]);
    expect((await run("act")).text).toBe("a");
  });

  test("what is not allowed is neither run nor shown by load_skill", async () => {
    const { run } = await openToolbox(files, { deny: ["a", "b"] });
    expect(await run("act")).toMatchObject({ isOk: false });
    expect(await run("load_skill", { name: "a" })).toMatchObject({
      isOk: false,
      text: expect.stringContaining("## Available skills"),
    });
  });
});

describe("plugins that misbehave", () => {
  test.each([
    ["throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })", true],
    ["throw Object.assign(new Error('late'), { code: 'ETIMEDOUT' })", true],
    ["throw new TypeError('fetch failed')", true],
    ["throw new TypeError('fetch failed', { cause: Object.assign(new Error('dns'), { code: 'ENOTFOUND' }) })", false],
    [
      "throw new TypeError('fetch failed', { cause: new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]) })",
      true,
    ],
    ["throw Object.assign(new Error('busy'), { status: 429 })", true],
    ["throw Object.assign(new Error('busy'), { statusCode: 503 })", true],
    ["throw new Error('HTTP 502 from the server')", true],
    ["throw Object.assign(new Error('gone'), { status: 404 })", false],
    ["throw Object.assign(new Error('no file'), { code: 'ENOENT' })", false],
    ["throw new Error('wrong')", false],
    ["throw 'text'", false],
    ["throw undefined", false],
    ["throw { get message() { throw 1 }, get code() { throw 2 } }", false],
  ])("%s: may another attempt go better? %j", async (body, isRetryable) => {
    const { run } = await openToolbox(acting(body));
    expect(await run("act")).toMatchObject({ isOk: false, isRetryable, files: [] });
  });

  test("how long the other side asked to wait is handed on", async () => {
    const { run } = await openToolbox(
      acting("throw Object.assign(new Error('busy'), { status: 429, retryAfterMs: 1500 })"),
    );
    expect(await run("act")).toMatchObject({ isRetryable: true, retryAfterMs: 1_500 });
  });

  test.each([
    [
      "return { success: false, output: '', error: 'no', retryable: true }",
      { isOk: false, isRetryable: true, text: "no" },
    ],
    ["return { success: false, output: 'half', error: 'no' }", { isOk: false, isRetryable: false, text: "no\n\nhalf" }],
    ["return { success: true, output: { a: 1 } }", { isOk: true, text: '{"a":1}' }],
    [
      "return { success: true, output: { id: 12345678901234567890n } }",
      { isOk: true, text: "{ id: 12345678901234567890n }" },
    ],
    [
      "const output = { a: 1 }; output.self = output; return { success: true, output }",
      { isOk: true, text: "<ref *1> { a: 1, self: [Circular *1] }" },
    ],
    [
      "return { success: true, output: { n: 1n, get trap() { throw new Error('trap') }, [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('trap') } } }",
      { isOk: true, text: expect.stringContaining("n: 1n") },
    ],
    ["return", { isOk: true, text: "(done, without output)" }],
    ["return 42", { isOk: false, isRetryable: false }],
    ["return { nonsense: 1n }", { isOk: false, isRetryable: false }],
    ["return { get success() { throw new Error('trap') } }", { isOk: false }],
    ["return new Proxy({}, { has() { throw 1 } })", { isOk: false }],
  ])("%s is an attempt", async (body, wanted) => {
    const { run } = await openToolbox(acting(body));
    expect(await run("act")).toMatchObject(wanted);
  });

  test.each([
    ["a syntax error", "export default {"],
    ["an error while it is loaded", "throw new Error('at load')"],
    ["no default export", "export const execute = () => 'x';"],
    ["no execute", "export default { init() {} };"],
    ["an error in init", "export default { init() { throw new Error('at init') }, execute: () => 'x' };"],
  ])("%s is a failed attempt that may be repeated, because nothing ran, and other skills go on", async (_, source) => {
    const { run } = await openToolbox({
      ...withPlugin(source),
      "good/SKILL.md": skillText("good", "tools: [{ name: work }]"),
      "good/plugin.mjs": "export default { execute: () => 'works' };",
    });
    expect(await run("act")).toMatchObject({ isOk: false, isRetryable: true });
    expect((await run("work")).text).toBe("works");
  });

  test("a plugin that never answers, in init or in a call, is left at the abort", async () => {
    for (const source of [
      "async execute() { await new Promise(() => {}); }",
      "init: () => new Promise(() => {}), execute: () => 'x'",
    ]) {
      const { run } = await openToolbox(withPlugin(`export default { ${source} };`));
      const controller = new AbortController();
      const attempt = run("act", {}, controller.signal);
      controller.abort();
      expect(await attempt).toMatchObject({
        isOk: false,
        isRetryable: false,
        text: expect.stringContaining("stopped"),
      });
    }
  });

  test("an init that failed is tried again by the next call", async () => {
    const source =
      "let tries = 0; export default { init() { if (++tries === 1) throw new Error('not yet'); }, execute: () => `try ${tries}` };";
    const { run } = await openToolbox(withPlugin(source));
    expect((await run("act")).isOk).toBe(false);
    expect((await run("act")).text).toBe("try 2");
  });

  test("files are handed on when they lie in the working folder, and left out with a word otherwise", async () => {
    const body = `
      const { writeFileSync } = await import("node:fs");
      writeFileSync(context.workingFolder + "/plot.png", "x");
      return { success: true, output: "drawn", files: [{ name: "Plot.png", path: "plot.png", mimeType: "image/png" }, { path: "../../../etc/passwd" }, { path: "link" }, 7] };`;
    const { run, scope } = await openToolbox(acting(body));
    await mkdir(scope.workingFolder, { recursive: true });
    await symlink("/etc/hostname", join(scope.workingFolder, "link"));
    const { files, text } = await run("act");
    expect(files).toEqual([
      { name: "Plot.png", path: expect.stringMatching(/\/outbox\/turn-1-call-1\/1$/), mimeType: "image/png" },
    ]);
    expect(text).toMatch(/^drawn\n\n.*passwd.*left out.*\n\n.*link.*left out.*\n\n.*no path/);
  });
});

describe("a plugin's life", () => {
  /** Writes what happens to it to `life.txt` in its data folder. */
  const living = (version: string) => `
    import { appendFileSync } from "node:fs";
    let home;
    const note = (what) => appendFileSync(home.dataFolder + "/life.txt", what + "${version} ");
    export default {
      init(given) { home = given; note("init"); },
      async execute(tool, { wait }, { signal }) {
        note("start");
        if (wait) await new Promise((resolve) => { globalThis.remoraTestRelease = resolve; });
        note("end");
        return "${version}";
      },
      destroy() { note("destroy"); },
    };`;
  const lifeOf = (home: string) => readFile(join(home, "data/demo/life.txt"), "utf8");
  const untilLife = (home: string, wanted: string) =>
    expect.poll(() => lifeOf(home).catch(() => ""), { timeout: 10_000, interval: 5 }).toBe(wanted);

  test("code is loaded at the first call, started once, and ended once at the close", async () => {
    const { run, home, toolbox } = await openToolbox(withPlugin(living("1")));
    await expect(lifeOf(home)).rejects.toThrow("ENOENT");
    await Promise.all([run("act"), run("act")]);
    await toolbox.close();
    await toolbox.close();
    expect(
      (await lifeOf(home))
        .trim()
        .split(" ")
        .filter((word) => !/start|end/.test(word)),
    ).toEqual(["init1", "destroy1"]);
  });

  test("changed code is in force on the next call, and the old version is ended when its last call is over", async () => {
    const { run, home, root } = await openToolbox(withPlugin(living("1")));
    const slow = run("act", { wait: true });
    await untilLife(home, "init1 start1 ");
    await writeFiles(root, { "demo/plugin.mjs": living("2") });
    await utimes(join(root, "demo/plugin.mjs"), new Date(), new Date(Date.now() + 5_000));
    expect((await run("act")).text).toBe("2");
    expect(await lifeOf(home)).toBe("init1 start1 init2 start2 end2 ");
    const { remoraTestRelease } = globalThis as { remoraTestRelease?: () => void };
    remoraTestRelease?.();
    expect((await slow).text).toBe("1");
    await untilLife(home, "init1 start1 init2 start2 end2 end1 destroy1 ");
  });

  test("the plugin of a removed skill is ended", async () => {
    const { run, home, root, library } = await openToolbox(withPlugin(living("1")));
    await run("act");
    await rm(join(root, "demo"), { recursive: true });
    await library.reload();
    await untilLife(home, "init1 start1 end1 destroy1 ");
  });
});
