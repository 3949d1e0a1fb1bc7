/** The files that a plugin is made of: changed ones are in force at the next call, all others are loaded once. */
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

type Files = { [path: string]: string };

/**
 * What the tool `act` says after each of these changes of its files. In a process of its own: the modules of this one are Vitest's.
 */
async function saidAfter(...changes: Files[]): Promise<string[]> {
  const root = await skillFolder({ "demo/SKILL.md": skillText("demo", "tools: [{ name: act }]") });
  const script = `
    import { mkdir, utimes, writeFile } from "node:fs/promises";
    import { dirname, join } from "node:path";
    import { createEvents } from ${source("src/lib/event-bus.ts")};
    import { createSkillLibrary } from ${source("src/skill-runtime/library/library.ts")};
    import { createToolbox } from ${source("src/skill-runtime/toolbox.ts")};
    const [root, home, changes] = process.argv.slice(-3);
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const library = createSkillLibrary({ roots: [root], log, events: createEvents() });
    const toolbox = createToolbox({ library, log, workspace: home, filesRoot: home, dataFolder: home, config: {} });
    const scope = { turnId: "t", conversationId: "c", scope: "dm:ann", requester: { id: "ann", name: "Ann", isBot: false, roles: [] }, workingFolder: home };
    const said = [];
    for (const [index, files] of JSON.parse(changes).entries()) {
      for (const [path, text] of Object.entries(files)) {
        const file = join(root, "demo", path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
        // As somebody does it who saves the file some time later.
        await utimes(file, index, index);
      }
      await library.reload();
      const { text } = await toolbox.run({ id: "1", name: "act", input: {} }, scope, new AbortController().signal);
      said.push(text);
    }
    await toolbox.close();
    await library.close();
    process.stdout.write(JSON.stringify(said));`;
  const plan = [root, await temporaryFolder(), JSON.stringify(changes)];
  const { stdout } = await execa(process.execPath, ["--input-type=module", "-e", script, ...plan], { node: false });
  return JSON.parse(stdout) as string[];
}

function source(path: string): string {
  return JSON.stringify(new URL(join("../..", path), import.meta.url).href);
}

const old = (value: string) => `module.exports = { execute: () => "${value}" };`;
const requiring = 'const part = require("./lib/part.cjs"); module.exports = { execute: () => part };';
const part = (value: string) => `module.exports = "${value}";`;
const importing = 'import { part } from "./lib/part.ts"; export default { execute: () => part };';

test.each<[what: string, files: Files, path: string, text: string]>([
  ["a plugin of the older kind", { "plugin.js": old("1") }, "plugin.js", old("2")],
  ["what such a plugin requires", { "plugin.js": requiring, "lib/part.cjs": part("1") }, "lib/part.cjs", part("2")],
  [
    "what a plugin imports",
    { "plugin/index.ts": importing, "plugin/lib/part.ts": 'export const part: string = "1";' },
    "plugin/lib/part.ts",
    'export const part: string = "2";',
  ],
  [
    "what that imports in turn, of the older kind",
    {
      "plugin.ts": importing,
      "lib/part.ts": 'import value from "./value.cjs"; export const part: string = value;',
      "lib/value.cjs": part("1"),
    },
    "lib/value.cjs",
    part("2"),
  ],
  [
    "what it imports only when it runs",
    {
      "plugin.mjs": 'export default { execute: async () => (await import("./later.mjs")).value };',
      "later.mjs": 'export const value = "1";',
    },
    "later.mjs",
    'export const value = "2";',
  ],
  [
    "data that it imports",
    {
      "plugin.mjs":
        'import data from "./data.json" with { type: "json" }; export default { execute: () => data.value };',
      "data.json": '{ "value": "1" }',
    },
    "data.json",
    '{ "value": "2" }',
  ],
  [
    "a file that it requires beside its imports",
    {
      "plugin.mjs":
        'import { createRequire } from "node:module"; const part = createRequire(import.meta.url)("./part.cjs"); export default { execute: () => part };',
      "part.cjs": part("1"),
    },
    "part.cjs",
    part("2"),
  ],
])("%s, once changed, is in force at the next call", async (_what, files, path, text) => {
  const changes = [files, { [path]: text }, { [path]: text.replace("2", "3") }];
  expect(await saidAfter(...changes)).toEqual(["1", "2", "3"]);
});

test("a file without a change is loaded once, and so is a library, whatever changes beside it", async () => {
  const counting = (name: string) =>
    `globalThis.loads = { ...globalThis.loads, ${name}: (globalThis.loads?.${name} ?? 0) + 1 };`;
  const plugin = (more = "") =>
    `import "library"; import "./part.mjs"; export default { execute: () => JSON.stringify(globalThis.loads) + "${more}" };`;
  const files = {
    "plugin.mjs": plugin(),
    "part.mjs": counting("part"),
    "node_modules/library/package.json": '{ "name": "library", "main": "index.mjs" }',
    "node_modules/library/index.mjs": counting("library"),
  };
  const once = '{"library":1,"part":1}';
  expect(await saidAfter(files, {}, { "plugin.mjs": plugin("!") })).toEqual([once, once, '{"library":1,"part":2}!']);
});

test.each([
  ["is not there", {}],
  ["throws", { "part.mjs": 'throw new Error("not yet");' }],
])("a plugin that imports what %s works as soon as that is mended", async (_what, files: Files) => {
  const plugin = 'import { part } from "./part.mjs"; export default { execute: () => part };';
  const mended = { "part.mjs": 'export const part = "mended";' };
  expect(await saidAfter({ "plugin.mjs": plugin, ...files }, mended)).toEqual([
    expect.stringContaining("failed"),
    "mended",
  ]);
});
