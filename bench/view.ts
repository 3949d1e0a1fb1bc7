/**
 * The cost of a view against plain bubblewrap (no layer, read-only root), alternating in one run: a folder of 10,000 files, and
 * a command that does nothing. Prints one JSON line, times in milliseconds.
 *
 *   node bench/view.ts            100 rounds
 *   node bench/view.ts 30         30 rounds
 *
 * `open`: until a command can start. `run`: until its end is known. `close`: until everything is removed. `total`: the sum.
 * `bubblewrap` is missing where it is not installed.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSandbox } from "../src/sandbox/view/sandbox.ts";
import { median, percentile } from "./statistics.ts";

const rounds = Number(process.argv[2] ?? 100);
const files = 10_000;
const warmUps = 3;
const command = "true";
const place = await realpath(await mkdtemp(join(tmpdir(), "remora-bench-")));
const folder = join(place, "folder");
const bubblewrap = "/usr/bin/bwrap";
const hasBubblewrap = existsSync(bubblewrap);
const times = { open: [], run: [], close: [], total: [], bubblewrap: [] } as Record<string, number[]>;

function since(began: number, name: string): number {
  const now = performance.now();
  times[name]?.push(now - began);
  return now;
}

async function runView(scratch: string) {
  await mkdir(scratch, { recursive: true });
  const began = performance.now();
  const view = await sandbox.open({ folder, layers: [], scratch }, AbortSignal.timeout(30_000));
  const opened = since(began, "open");
  const running = view.start({ text: command });
  running.output.resume();
  const { exitCode, message } = await running.ended;
  if (exitCode !== 0) throw new Error(message);
  const ended = since(opened, "run");
  await view.close();
  since(ended, "close");
  since(began, "total");
}

async function runBubblewrap() {
  const began = performance.now();
  const args = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/"];
  const mounts = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", folder, folder, "--chdir", folder];
  const child = spawn(bubblewrap, [...args, ...mounts, "--", "/bin/bash", "-c", command], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.resume();
  child.stderr.resume();
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`bubblewrap ended with ${code}`);
  since(began, "bubblewrap");
}

await mkdir(folder);
for (let index = 0; index < files; index += 1) {
  const inner = join(folder, String(index % 100));
  if (index < 100) await mkdir(inner);
  await writeFile(join(inner, String(index)), "text\n");
}
const startBegan = performance.now();
const sandbox = createSandbox({ folder: join(place, "sandbox") });
const { holds, detail } = await sandbox.probe();
const startMs = performance.now() - startBegan;
if (!holds) throw new Error(detail);
for (let round = -warmUps; round < rounds; round += 1) {
  if (round === 0) for (const values of Object.values(times)) values.length = 0;
  await runView(join(place, "scratch", String(round)));
  if (hasBubblewrap) await runBubblewrap();
}
await sandbox.close();
await rm(place, { recursive: true, force: true });

const measured = Object.entries(times).filter(([, values]) => values.length > 0);
const figures = measured.map(([name, values]) => [name, { median: median(values), p95: percentile(values, 0.95) }]);
console.log(
  JSON.stringify({
    bench: "view",
    rounds,
    files,
    user: process.geteuid?.(),
    firstStartAndProbeMs: Number(startMs.toFixed(1)),
    ...Object.fromEntries(figures),
    ...(hasBubblewrap && {
      moreThanBubblewrapMs: Number((median(times.total ?? []) - median(times.bubblewrap ?? [])).toFixed(2)),
    }),
  }),
);
