/**
 * Each module costs a start about half a millisecond. test/architecture.test.ts lists the packages that it may import; this
 * is about what is imported on demand, but must not be before the process is ready.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createHome, startRemora } from "../doubles/remora-process.ts";

/** With a little room for growth. */
const maxModules = 925;

test("a start is ready before it loads the model's client and the metrics' library", async () => {
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
  expect(["@anthropic-ai/sdk", "prom-client"].filter(loads)).toEqual([]);
  expect(modules.length).toBeLessThan(maxModules);
});
