/** Writes results as JSON, and beside them every request with its answer, a line each. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TaskResult } from "./play.ts";

/** They have what people and files said. */
const ownerOnly = 0o600;

export async function saveResults(folder: string, results: readonly TaskResult[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const shown = results.map(({ traffic: _traffic, ...result }) => result);
  const lines = results.flatMap(({ bot, task, round, traffic }) =>
    traffic.map((one) => `${JSON.stringify({ bot, task, round, ...one })}\n`),
  );
  await writeFile(join(folder, "results.json"), `${JSON.stringify(shown, null, 1)}\n`, { mode: ownerOnly });
  await writeFile(join(folder, "requests.jsonl"), lines.join(""), { mode: ownerOnly });
}
