/** A process that can open no more files can start no other process either. That fails one piece of work, not everything. */
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const source = resolve(import.meta.dirname, "../../src");
const patienceMs = 60_000;

/** Runs the code in a process that has opened all files it may, and returns what it prints. */
async function withoutFiles(code: string): Promise<string> {
  const program = `
    import { openSync } from "node:fs";
    const signal = AbortSignal.timeout(${patienceMs});
    const shown = ({ message, code }) => console.log(code ?? "", message);
    ${code.replaceAll("SOURCE", source)}
    try {
      for (;;) openSync("/dev/null");
    } catch {}
    await start().then(shown, shown);
  `;
  const shell = 'ulimit -n 60; exec "$0" --input-type=module --eval "$1"';
  return (await promisify(execFile)("sh", ["-c", shell, process.execPath, program])).stdout.trim();
}

test("a view that can't be started for want of files is refused, with the reason", {
  timeout: patienceMs,
}, async () => {
  const said = await withoutFiles(`
    import { explainFailure } from "SOURCE/sandbox/view/explain-failure.ts";
    import { launcherProgram } from "SOURCE/sandbox/view/launcher.ts";
    import { startViewProcess } from "SOURCE/sandbox/view/view-process.ts";
    const start = () => startViewProcess("/bin/true", launcherProgram("x64"), signal)
      .catch(async (thrown) => ({ code: thrown.code, message: await explainFailure(thrown) }));
  `);
  expect(said).toMatch(/^sandbox\.missing too many files are open .*EMFILE.*ulimit -n/);
});

test("a plugin outside the sandbox ends without output", { timeout: patienceMs }, async () => {
  const said = await withoutFiles(`
    import { createUnconfinedLauncher } from "SOURCE/sandbox/plugin-launcher.ts";
    const start = async () => {
      const plugin = await createUnconfinedLauncher().start({ args: [], env: {} }, signal);
      await plugin.ended;
      return { message: "it has ended" };
    };
  `);
  expect(said).toBe("it has ended");
});

test("an isolated process fails with the reason", { timeout: patienceMs }, async () => {
  const said = await withoutFiles(`
    import { runIsolatedProcess } from "SOURCE/plugin-sdk/isolated-process.ts";
    const module = new URL("file://SOURCE/plugin-sdk/isolated-entry.ts");
    const start = () => runIsolatedProcess({ module, request: {}, timeoutMs: 5000, megabytes: 100 }, signal);
  `);
  expect(said).toMatch(/EMFILE/);
});
