/**
 * Runs the benchmarks, each in a process of its own and one after the other, so that none disturbs another.
 *
 *   node bench/run.ts                    all of them
 *   node bench/run.ts pipeline 300       one, with its own arguments
 *
 * What they print, one JSON line each, goes to standard output; which one runs and how long it took, to standard error.
 * Ends with 1 when one of them failed; the others are run all the same.
 */
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** What the benchmarks share, and this file; the bots they compare with are `bare-…`. */
const parts: ReadonlySet<string> = new Set([
  "run",
  "statistics",
  "resident",
  "memory-sets",
  "model-server",
  "crowd",
  "order-check",
]);

const names = (await readdir(import.meta.dirname))
  .flatMap((file) => (file.endsWith(".ts") ? [file.slice(0, -".ts".length)] : []))
  .filter((name) => !parts.has(name) && !name.startsWith("bare-"))
  .sort();
const [wanted, ...args] = process.argv.slice(2);

if (wanted !== undefined && !names.includes(wanted)) {
  process.stderr.write(`There is no benchmark "${wanted}". There are: ${names.join(", ")}.\n`);
  process.exitCode = 1;
} else {
  for (const name of wanted === undefined ? names : [wanted]) {
    const began = performance.now();
    process.stderr.write(`${name} …\n`);
    const code = await run(name);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    process.stderr.write(`${name} ${code === 0 ? "took" : `ended with ${code} after`} ${seconds} s\n`);
    if (code !== 0) process.exitCode = 1;
  }
}

function run(name: string): Promise<number | null> {
  const child = spawn(process.execPath, [join(import.meta.dirname, `${name}.ts`), ...args], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}
