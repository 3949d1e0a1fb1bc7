/**
 * Search time over 100,000 entries, and the longest pause of the event loop, against a plain FTS5 query in the same run: the
 * same texts and words, the first ten hits by BM25.
 *
 *   node bench/memory-search.ts [ENTRIES]
 *
 * Also measures how fast the index is built from Markdown, and the longest pause during that. Prints one JSON line.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { createEvents } from "../src/lib/event-bus.ts";
import { silentLog } from "../src/lib/log.ts";
import { createThread } from "../src/lib/worker-thread.ts";
import { createMemory } from "../src/memory/memory.ts";
import { randomNumbers } from "./memory-sets.ts";
import { percentile } from "./statistics.ts";

const entries = Number(process.argv[2] ?? 100_000);
const scopes = 20;
const questions = 200;
const next = randomNumbers(7);
const words = Array.from({ length: 20_000 }, (_, index) => wordNumber(index));
const workspace = mkdtempSync(join(tmpdir(), "remora-bench-"));
const texts = Array.from({ length: entries }, () =>
  Array.from({ length: 20 + Math.floor(next() * 40) }, zipfWord).join(" "),
);
const asked = Array.from(
  { length: questions },
  () => `what did we say about ${Array.from({ length: 4 }, zipfWord).join(" ")}?`,
);

const database = new DatabaseSync(join(workspace, "bare.db"));
database.exec("CREATE VIRTUAL TABLE entries USING fts5 (scope, text, tokenize = 'porter unicode61'); BEGIN");
const insert = database.prepare("INSERT INTO entries (scope, text) VALUES (?, ?)");
for (const [index, text] of texts.entries()) insert.run(`s${index % scopes}`, text);
database.exec("COMMIT");
writeMarkdown();

const memory = createMemory({
  thread: createThread({ name: "memory", maxMegabytes: 256 }),
  workspace,
  indexFile: join(workspace, "index.db"),
  events: createEvents(),
  log: silentLog,
  redact: (text) => text,
});
const pauses = monitorEventLoopDelay({ resolution: 1 });
pauses.enable();
const began = performance.now();
await memory.warmUp();
const indexedMs = performance.now() - began;
const ours: number[] = [];
const all = Array.from({ length: scopes }, (_, index) => `channel:c${index}` as const);
for (const query of asked) {
  const start = performance.now();
  await memory.search({ query, scopes: all, limit: 10 });
  ours.push(performance.now() - start);
}
pauses.disable();
await memory.close();

const find = database.prepare("SELECT rowid FROM entries WHERE entries MATCH ? ORDER BY rank LIMIT 10");
const bare: number[] = [];
for (const query of asked) {
  const start = performance.now();
  find.all((query.match(/\w+/g) ?? []).map((word) => `"${word}"`).join(" OR "));
  bare.push(performance.now() - start);
}
database.close();
rmSync(workspace, { recursive: true, force: true });

const round = (value: number) => Math.round(value * 100) / 100;
console.log(
  JSON.stringify({
    bench: "memory-search",
    entries,
    medianMs: round(percentile(ours, 0.5)),
    p95Ms: round(percentile(ours, 0.95)),
    bareMedianMs: round(percentile(bare, 0.5)),
    bareP95Ms: round(percentile(bare, 0.95)),
    ratio: round(percentile(ours, 0.5) / percentile(bare, 0.5)),
    entriesIndexedPerSecond: Math.round((entries / indexedMs) * 1000),
    longestLoopPauseMs: round(pauses.max / 1e6),
  }),
);

/** As in any language, a few words are in nearly every text and most are rare. */
function zipfWord(): string {
  return words[Math.floor(words.length ** next()) - 1] ?? "word";
}

function wordNumber(index: number): string {
  const syllables = ["ba", "ko", "ri", "mu", "te", "sha", "lo", "ni", "ve", "da"];
  return String(index).replace(/\d/g, (digit) => syllables[Number(digit)] ?? "");
}

function writeMarkdown(): void {
  const perFile = 250;
  for (let scope = 0; scope < scopes; scope++) {
    const folder = join(workspace, `brain/hippocampus/episodes/channel:c${scope}`);
    mkdirSync(folder, { recursive: true });
    const own = texts.filter((_, index) => index % scopes === scope);
    for (let start = 0; start < own.length; start += perFile) {
      const day = new Date(Date.UTC(2024, 0, 1 + start / perFile)).toISOString().slice(0, 10);
      const lines = own.slice(start, start + perFile).map((text, index) => {
        const time = new Date(index * 300_000).toISOString().slice(11, 16);
        return `## ${time} — entry\n\n${text}\n`;
      });
      writeFileSync(join(folder, `${day}.md`), lines.join("\n"));
    }
  }
}
