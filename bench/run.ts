/**
 * Runs the benchmarks one after the other, each in its own process, so they do not disturb each other.
 *
 *   node bench/run.ts                    all benchmarks
 *   node bench/run.ts pipeline 300       one benchmark, with its arguments
 *
 * Each benchmark prints one JSON line on standard output; progress goes to standard error. The exit code is 1 if any
 * benchmark failed; the others still run.
 */
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Files here that are no benchmarks, besides the baseline bots `bare-…`. */
const helpers: ReadonlySet<string> = new Set([
  "run",
  "statistics",
  "process-usage",
  "turn-history",
  "memory-sets",
  "memory-weights",
  "recall",
  "model-server",
  "load-generator",
  "order-check",
  "cost-chats",
  "cost-figures",
  "cost-stories",
  "everyday-work",
]);

const names = (await readdir(import.meta.dirname))
  .flatMap((file) => (file.endsWith(".ts") ? [file.slice(0, -".ts".length)] : []))
  .filter((name) => !helpers.has(name) && !name.startsWith("bare-"))
  .sort();
const [wanted, ...args] = process.argv.slice(2);

if (wanted !== undefined && !names.includes(wanted)) {
  process.stderr.write(`Unknown benchmark "${wanted}". Benchmarks: ${names.join(", ")}.\n`);
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
