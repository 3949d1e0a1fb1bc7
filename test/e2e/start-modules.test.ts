/** Each module costs a start about half a millisecond, so what only some turns need is loaded when they need it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { createHome, startRemora } from "../doubles/remora-process.ts";

/** With room for growth: the smallest of the packages that must not load would exceed it. */
const maxModules = 970;

test("before it is ready, a start with one provider and the page loads only these packages", async () => {
  const home = await createHome();
  const file = join(home.workspace, "modules.json");
  const remora = await startRemora(home, {
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
    NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, "../doubles/loaded-modules.mjs")).href}`,
    REMORA_TEST_MODULES: file,
  });
  onTestFinished(async () => {
    await remora.kill();
    await home.remove();
  });
  const urls = JSON.parse(readFileSync(file, "utf8")) as string[];
  const modules = urls.filter((url) => url.startsWith("file:"));
  const loads = (name: string) => modules.some((url) => url.includes(`/node_modules/${name}/`));
  expect(Object.keys(manifest.dependencies).filter(loads)).toEqual([
    ...["@hono/node-server", "@keyv/sqlite", "chokidar", "commander", "croner", "diff", "hono", "keyv", "p-queue"],
    ...["pino", "re2js", "unbash", "yaml", "zod"],
  ]);
  expect(modules.length).toBeLessThan(maxModules);
});
