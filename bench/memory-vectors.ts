/**
 * The time to find the passages nearest in meaning, all in one scope, and how many of the true nearest 20 are found.
 *
 *   node bench/memory-vectors.ts [PASSAGES] [DIMENSIONS]
 *
 * The vectors lie in random clusters, because those of texts do. `first` reads the scope's signs from disk; `afterAppend`
 * those of one more passage. Prints one JSON line.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMeaning } from "../src/memory/meaning.ts";
import { createSearchIndex } from "../src/memory/search-index.ts";
import { openVectorStore } from "../src/memory/vector-store.ts";
import { cosine } from "../src/memory/vectors.ts";
import { randomNumbers } from "./memory-sets.ts";
import { percentile } from "./statistics.ts";

const passages = Number(process.argv[2] ?? 10_000);
const dimensions = Number(process.argv[3] ?? 1_536);
const questions = 30;
const nearest = 20;
const perFile = 250;
const clusters = 200;
const next = randomNumbers(11);
const randomVector = () => Float32Array.from({ length: dimensions }, () => next() + next() + next() - 1.5);
const centres = Array.from({ length: clusters }, randomVector);
const clustered = (): Float32Array => {
  const centre = centres[Math.floor(next() * clusters)] ?? new Float32Array(dimensions);
  return randomVector().map((value, index) => value + (centre[index] ?? 0));
};

const workspace = mkdtempSync(join(tmpdir(), "remora-bench-"));
const folder = join(workspace, "brain/hippocampus/episodes/channel:bench");
mkdirSync(folder, { recursive: true });
for (let start = 0; start < passages; start += perFile) {
  const day = new Date(Date.UTC(2020, 0, 1 + start / perFile)).toISOString().slice(0, 10);
  const entries = Array.from(
    { length: Math.min(perFile, passages - start) },
    (_, index) => `## 10:00 — x\n\n${start + index}\n`,
  );
  writeFileSync(join(folder, `${day}.md`), entries.join("\n"));
}
const index = createSearchIndex({ workspace, indexFile: join(workspace, "memory.db"), onProblem: console.error });
index.update(["channel:bench"]);
const file = join(workspace, "vectors.db");
const store = openVectorStore(file, "random", console.error);
if (store === undefined) throw new Error("no store");
const rows = index.query(({ vectorKeysOfScope }) => vectorKeysOfScope.all("channel:bench"));
const vectors = new Map<number, Float32Array>();
for (let start = 0; start < rows.length; start += 1_000) {
  const some = rows.slice(start, start + 1_000).map((row) => ({ row, vector: clustered() }));
  // Only some can be compared exactly, because all would not fit into memory.
  for (const { row, vector } of some) if (vectors.size < 10_000) vectors.set(Number(row.id), vector);
  store.put(some.map(({ row, vector }) => ({ key: String(row.vector_key), vector })));
}
const meaning = createMeaning(index, store);
const asked = Array.from({ length: questions }, clustered);
const times = asked.map((question) => {
  const began = performance.now();
  meaning.nearest(question, ["channel:bench"], nearest);
  return performance.now() - began;
});
writeFileSync(join(folder, "2019-12-31.md"), "## 10:00 — x\n\nnew\n");
index.update(["channel:bench"]);
const afterAppend = performance.now();
meaning.nearest(clustered(), ["channel:bench"], nearest);
const afterAppendMs = performance.now() - afterAppend;
const found = asked.slice(0, 5).map((question) => {
  const isCompared = passages <= vectors.size;
  if (!isCompared) return Number.NaN;
  const exact = [...vectors]
    .map(([id, vector]) => ({ id, similarity: cosine(question, vector) }))
    .sort((one, other) => other.similarity - one.similarity)
    .slice(0, nearest);
  const ids = new Set(meaning.nearest(question, ["channel:bench"], nearest).map(({ id }) => id));
  return exact.filter(({ id }) => ids.has(id)).length / nearest;
});
const bytes = statSync(file).size + statSync(`${file}-wal`).size;
meaning.close();
index.close();
rmSync(workspace, { recursive: true, force: true });

const round = (value: number) => Math.round(value * 100) / 100;
console.log(
  JSON.stringify({
    bench: "memory-vectors",
    passages,
    dimensions,
    firstMs: round(times[0] ?? 0),
    medianMs: round(percentile(times.slice(1), 0.5)),
    p95Ms: round(percentile(times.slice(1), 0.95)),
    afterAppendMs: round(afterAppendMs),
    foundOfNearest20: passages <= vectors.size ? round(found.reduce((sum, one) => sum + one, 0) / found.length) : null,
    signsMb: round((passages * Math.ceil(dimensions / 32) * 4) / 1e6),
    diskMb: round(bytes / 1e6),
  }),
);
