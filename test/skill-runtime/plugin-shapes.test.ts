/** Plugins in both common shapes and wherever they may lie, and what they do to the toolbox at their worst moments. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { skillText } from "./folders.ts";
import { openProviding } from "./providing.ts";

const openPlugin = (file: string, source: string) =>
  openProviding({ files: { "demo/SKILL.md": skillText("demo", "tools: [{ name: act }]"), [`demo/${file}`]: source } });

const ours = "{ execute: (tool, input, context) => [tool, typeof context.log, input.a].join() }";
const other =
  "{ name: 'demo', tools: [], prefix: 'p', async execute(tool, args, signal) { return { success: true, output: [this.prefix, tool, args.a, signal instanceof AbortSignal].join() }; } }";

describe.each([
  ["ours", ours, "act,object,1"],
  ["the other common shape", other, "p,act,1,true"],
])("%s", (_shape, plugin, answer) => {
  test.each([
    ["plugin.ts", `const plugin = ${plugin};\nexport default plugin;`],
    ["plugin.js", `export default ${plugin};`],
    ["plugin.mjs", `export default ${plugin};`],
    ["plugin/index.ts", `export default ${plugin};`],
    ["plugin/index.js", `module.exports = ${plugin};`],
    ["plugin/index.mjs", `export default ${plugin};`],
    ["plugin/index.js", `exports.__esModule = true; exports.default = ${plugin};`],
  ])("in %s: %s", async (file, source) => {
    const { run } = await openPlugin(file, source);
    expect(await run("act", { a: 1 })).toMatchObject({ isOk: true, text: answer });
  });
});

describe("the other shape", () => {
  const withBody = (body: string, more = "") =>
    openPlugin(
      "plugin/index.mjs",
      `export default { name: "demo", tools: [{ name: "act" }], ${more} async execute(tool, args, signal) { ${body} } };`,
    );

  test("says how it ended in the same words", async () => {
    const failing = await withBody("return { success: false, output: '', error: 'no such city' };");
    expect(await failing.run("act")).toMatchObject({ isOk: false, isAnswer: true, text: "no such city" });
    const throwing = await withBody("throw new Error('broken');");
    expect(await throwing.run("act")).toMatchObject({ isOk: false, isRetryable: false });
    const odd = await withBody("return [1, 2];");
    expect(await odd.run("act")).toMatchObject({ isOk: false, text: expect.stringContaining("[1,2]") });
  });

  test("is started with its home and ended", async () => {
    const more =
      "init(home) { this.home = home; }, async destroy() { (await import('node:fs')).writeFileSync(this.home.dataFolder + '/ended', ''); },";
    const { run, close, home } = await withBody("return { success: true, output: this.home.skillFolder };", more);
    expect((await run("act")).text).toMatch(/demo$/);
    await close();
    expect(await readFile(join(home, "data/demo/ended"), "utf8")).toBe("");
  });
});

describe("at its worst moments", () => {
  test.each([
    ["while it is loaded", "process.exit(3);"],
    ["in init", "export default { init() { process.exit(3); }, execute: () => 'x' };"],
    ["in its call", "export default { execute() { process.exit(3); } };"],
  ])("a plugin that ends the process %s only fails", async (_when, source) => {
    const { run } = await openPlugin("plugin.mjs", source);
    expect(await run("act")).toMatchObject({ isOk: false, text: expect.stringContaining("tried to end the process") });
  });

  test("what it writes to standard output from its first line on goes to the log", async () => {
    const source =
      "process.stdout.write('loaded'); export default { init() { process.stdout.write('begun'); }, execute: () => 'done' };";
    const { run, logged } = await openPlugin("plugin.mjs", source);
    expect((await run("act")).text).toBe("done");
    expect(logged.flatMap(({ output }) => output ?? [])).toEqual(["loaded", "begun"]);
  });

  test.each([
    ["throws", "throw new Error('no end');"],
    ["ends the process", "process.exit(4);"],
    ["never ends", "return new Promise(() => {});"],
  ])("one that %s in destroy does not keep the others from ending", async (_what, body) => {
    const { run, close } = await openPlugin(
      "plugin.mjs",
      `export default { execute: () => 'x', destroy() { ${body} } };`,
    );
    expect((await run("act")).text).toBe("x");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const closing = close();
      await vi.advanceTimersByTimeAsync(10_000);
      await closing;
    } finally {
      vi.useRealTimers();
    }
  });

  test("a call that hangs is left at the close", async () => {
    const source =
      "export default { execute(tool, input, { log }) { log.info({}, 'called'); return new Promise(() => {}); } };";
    const { run, close, logged } = await openPlugin("plugin.mjs", source);
    void run("act");
    await vi.waitFor(() => expect(logged).toContainEqual({ skill: "demo", message: "called" }));
    await close();
  });
});
