/** In a process of its own, because the hook stays for good. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const hook = new URL("../../src/lib/package-imports.mjs", import.meta.url).href;

/** A package whose modules are imported by path, by a link and by `require`. */
const files = {
  "package.json": '{ "name": "one", "exports": { ".": "./lib/index.mjs", "./cjs": "./lib/index.cjs" } }',
  "lib/index.mjs": 'export { where } from "./link.mjs"; export { up } from "../up.js";',
  "lib/real.mjs": "export const where = import.meta.url;",
  "up.js": "exports.up = require('./lib/words');",
  "lib/words.js": "module.exports = 'by require';",
  "lib/index.cjs": "module.exports = require('../up.js').up;",
};

test("within a package, a path is the address; elsewhere, Node decides; `require` works as before", async () => {
  const folder = await mkdtemp(join(tmpdir(), "remora-imports-"));
  try {
    for (const home of [join(folder, "node_modules/one"), join(folder, "own")]) {
      await mkdir(join(home, "lib"), { recursive: true });
      for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text);
      await symlink("real.mjs", join(home, "lib/link.mjs"));
    }
    const main = `
      import { up, where } from "one";
      import cjs from "one/cjs";
      import { where as own } from "./own/lib/index.mjs";
      console.log(JSON.stringify([where, own].map((url) => url.split("/").at(-1)).concat(up, cjs)));`;
    await writeFile(join(folder, "main.mjs"), main);
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", hook, join(folder, "main.mjs")]);
    expect(JSON.parse(stdout)).toEqual(["link.mjs", "real.mjs", "by require", "by require"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
