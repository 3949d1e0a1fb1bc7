/**
 * How often search finds the turns that answer a question: recall@5 and @10, against a plain BM25 index of the same turns.
 *
 *   node bench/memory-retrieval.ts [FILE]
 *
 * FILE is a JSON file in the published LoCoMo format (an array of `{ conversation, qa }`); the default is a synthetic set.
 * Every turn becomes an entry of a Markdown file, and the questions go through the memory port. Recall is the share of a
 * question's evidence turns among the first 5 and 10 hits. Prints one JSON line.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createEvents } from "../src/lib/event-bus.ts";
import { silentLog } from "../src/lib/log.ts";
import { createMemory } from "../src/memory/memory.ts";
import { type Conversation, readLocomo, syntheticConversations } from "./memory-sets.ts";

const cutoffs = [5, 10] as const;

/** Sum of recalls by cutoff, and the number of questions. */
interface Tally {
  questions: number;
  recall: Record<(typeof cutoffs)[number], number>;
}

const [file] = process.argv.slice(2);
const conversations =
  file === undefined ? syntheticConversations() : readLocomo(JSON.parse(readFileSync(file, "utf8")));
const plain = newTally();
const ours = newTally();
for (const conversation of conversations) {
  measurePlain(conversation);
  await measureOurs(conversation);
}
const shares = ({ recall, questions }: Tally) =>
  Object.fromEntries(
    cutoffs.map((cutoff) => [`recall@${cutoff}`, Math.round((recall[cutoff] / questions) * 1e4) / 1e4]),
  );
console.log(
  JSON.stringify({
    bench: "memory-retrieval",
    set: file === undefined ? "synthetic" : "locomo",
    turns: conversations.reduce((sum, { turns }) => sum + turns.length, 0),
    questions: ours.questions,
    ours: shares(ours),
    plain: shares(plain),
  }),
);

function measurePlain({ turns, questions }: Conversation): void {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE turns USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')");
  const insert = database.prepare("INSERT INTO turns VALUES (?, ?)");
  for (const turn of turns) insert.run(turn.id, `${turn.speaker}: ${turn.text}`);
  const find = database.prepare("SELECT id FROM turns WHERE turns MATCH ? ORDER BY bm25 (turns) LIMIT 10");
  for (const { text, evidence } of questions) {
    const words = (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`);
    const found = find.all(words.join(" OR ")).map((row) => String(row.id));
    count(plain, found, evidence);
  }
  database.close();
}

async function measureOurs({ turns, questions }: Conversation): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), "remora-bench-"));
  const folder = join(workspace, "brain/hippocampus/episodes/channel:bench");
  mkdirSync(folder, { recursive: true });
  const byFile = Map.groupBy(turns, (turn) => turn.file);
  const idByPlace = new Map<string, string>();
  for (const [name, said] of byFile) {
    const entries = said.map(({ id, time, speaker, text }) => {
      const heading = `${time} — ${id}`;
      idByPlace.set(`${name} ${heading}`, id);
      return `## ${heading}\n\n${speaker}: ${text}\n`;
    });
    writeFileSync(join(folder, name), entries.join("\n"));
  }
  const memory = createMemory({
    workspace,
    indexFile: ":memory:",
    events: createEvents(),
    log: silentLog,
    redact: (text) => text,
  });
  for (const { text, evidence } of questions) {
    const hits = await memory.search({ query: text, scopes: ["channel:bench"], limit: 10 });
    const found = hits.map((hit) => idByPlace.get(`${hit.path.split("/").at(-1)} ${hit.heading}`) ?? "");
    count(ours, found, evidence);
  }
  await memory.close();
  rmSync(workspace, { recursive: true, force: true });
}

function newTally(): Tally {
  return { questions: 0, recall: { 5: 0, 10: 0 } };
}

function count(tally: Tally, found: readonly string[], evidence: readonly string[]): void {
  tally.questions++;
  for (const cutoff of cutoffs) {
    const first = found.slice(0, cutoff);
    tally.recall[cutoff] += evidence.filter((id) => first.includes(id)).length / evidence.length;
  }
}
