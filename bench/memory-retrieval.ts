/**
 * How often search finds the turns that answer a question: recall@5 and @10, against a plain BM25 index of the same turns.
 *
 *   node bench/memory-retrieval.ts [FILE] [--choose]
 *
 * FILE is a JSON file in the published LoCoMo format (an array of `{ conversation, qa }`); the default is a synthetic set.
 * Every turn becomes an entry of a Markdown file, and the questions go through the memory port. Recall is the share of a
 * question's evidence turns among the first 5 and 10 hits. Prints one JSON line.
 *
 * The weights of the ranking are chosen on one half of the conversations (`--choose` does so, and prints them). Only the
 * other half, `heldOut`, shows how well they do. `unasked` compares what a message brings up by itself with what `recall` finds: the
 * share of the evidence among 24 hits, and of the characters of what is found for questions about another conversation. `withEmbeddingDouble` proves that ranks are fused: its vectors come from
 * a short list of synonyms, so its recall is not that of any model.
 */
import { hash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { createEvents } from "../src/lib/event-bus.ts";
import { silentLog } from "../src/lib/log.ts";
import { createThread } from "../src/lib/worker-thread.ts";
import { createMemory, type MemoryOptions } from "../src/memory/memory.ts";
import type { Embedder } from "../src/ports/embeddings.ts";
import { conceptVector } from "../test/doubles/concept-vectors.ts";
import { type Conversation, readLocomo, syntheticConversations } from "./memory-sets.ts";
import { chooseWeights } from "./memory-weights.ts";
import { addRecall, newTally, recallsOf, type Tally } from "./recall.ts";

const { positionals, values } = parseArgs({ allowPositionals: true, options: { choose: { type: "boolean" } } });
const [file] = positionals;
const conversations =
  file === undefined ? syntheticConversations() : readLocomo(JSON.parse(readFileSync(file, "utf8")));
const isChosenOn = new Map(
  conversations
    .toSorted((one, other) => (hash("sha256", one.id) < hash("sha256", other.id) ? -1 : 1))
    .map(({ id }, position) => [id, position % 2 === 0]),
);
const chosenOn = conversations.filter(({ id }) => isChosenOn.get(id));
const heldOut = conversations.filter(({ id }) => !isChosenOn.get(id));
const double: Embedder = {
  model: "concept vectors",
  address: "this process",
  embed: (texts) => Promise.resolve(texts.map((text) => Float32Array.from(conceptVector(text, 256)))),
};

if (values.choose) chooseWeights(chosenOn, heldOut, inMarkdown);
console.log(
  JSON.stringify({
    bench: "memory-retrieval",
    set: file === undefined ? "synthetic" : "locomo",
    turns: conversations.reduce((sum, { turns }) => sum + turns.length, 0),
    questions: conversations.reduce((sum, { questions }) => sum + questions.length, 0),
    heldOut: await measure(heldOut),
    chosenOn: await measure(chosenOn),
    unasked: await measureUnasked(conversations),
  }),
);

async function measure(some: readonly Conversation[]) {
  const [plain, ours, withDouble] = [newTally(), newTally(), newTally()];
  for (const conversation of some) {
    measurePlain(conversation, plain);
    await measureOurs(conversation, ours, {});
    await measureOurs(conversation, withDouble, {
      embeddings: { embedder: double, file: ":memory:", times: { betweenBatchesMs: 0 } },
    });
  }
  return {
    conversations: some.map(({ id }) => id),
    ours: recallsOf(ours),
    plain: recallsOf(plain),
    withEmbeddingDouble: recallsOf(withDouble),
  };
}

function measurePlain({ turns, questions }: Conversation, tally: Tally): void {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE turns USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')");
  const insert = database.prepare("INSERT INTO turns VALUES (?, ?)");
  for (const turn of turns) insert.run(turn.id, `${turn.speaker}: ${turn.text}`);
  const find = database.prepare("SELECT id FROM turns WHERE turns MATCH ? ORDER BY bm25 (turns) LIMIT 10");
  for (const { text, evidence } of questions) {
    const words = (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`);
    const found = find.all(words.join(" OR ")).map((row) => String(row.id));
    addRecall(tally, found, evidence);
  }
  database.close();
}

async function measureOurs(conversation: Conversation, tally: Tally, more: Partial<MemoryOptions>): Promise<void> {
  const { workspace, idOf, remove } = inMarkdown(conversation);
  const memory = openMemory(workspace, more);
  await memory.warmUp();
  for (;;) {
    const { passages, embedded } = (await memory.embeddings()) ?? { passages: 0, embedded: 0 };
    if (passages === embedded) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  for (const { text, evidence } of conversation.questions) {
    const hits = await memory.search({ query: text, scopes: ["channel:bench"], limit: 10 });
    addRecall(tally, hits.map(idOf), evidence);
  }
  await memory.close();
  remove();
}

async function measureUnasked(some: readonly Conversation[]) {
  const [own, foreign] = [
    { asked: 0, unasked: 0 },
    { asked: 0, unasked: 0 },
  ];
  for (const [at, conversation] of some.entries()) {
    const { workspace, idOf, remove } = inMarkdown(conversation);
    const memory = openMemory(workspace, {});
    await memory.warmUp();
    const find = (query: string, isUnasked: boolean) =>
      memory.search({ query, scopes: ["channel:bench"], limit: 24, ...(isUnasked ? { isUnasked } : {}) });
    for (const isUnasked of [true, false]) {
      const kind = isUnasked ? "unasked" : "asked";
      for (const { text, evidence } of conversation.questions) {
        own[kind] += (await find(text, isUnasked)).filter((hit) => evidence.includes(idOf(hit))).length;
      }
      for (const { text } of some[(at + 1) % some.length]?.questions ?? []) {
        for (const hit of await find(text, isUnasked)) foreign[kind] += hit.text.length;
      }
    }
    await memory.close();
    remove();
  }
  const share = ({ asked, unasked }: typeof own) => Math.round((unasked / asked) * 1e3) / 1e3;
  return { evidence: share(own), foreignCharacters: share(foreign) };
}

function openMemory(workspace: string, more: Partial<MemoryOptions>) {
  return createMemory({
    thread: createThread({ name: "memory", maxMegabytes: 256 }),
    ...{ workspace, indexFile: ":memory:" },
    ...{ events: createEvents(), log: silentLog, redact: (text: string) => text },
    ...more,
  });
}

/** Writes the turns as entries of the scope `channel:bench`. `idOf` returns a hit's turn. */
function inMarkdown({ turns }: Conversation) {
  const workspace = mkdtempSync(join(tmpdir(), "remora-bench-"));
  const folder = join(workspace, "brain/hippocampus/episodes/channel:bench");
  mkdirSync(folder, { recursive: true });
  const idByPlace = new Map<string, string>();
  for (const [name, said] of Map.groupBy(turns, (turn) => turn.file)) {
    const entries = said.map(({ id, time, speaker, text }) => {
      const heading = `${time} — ${id}`;
      idByPlace.set(`${name} ${heading}`, id);
      return `## ${heading}\n\n${speaker}: ${text}\n`;
    });
    writeFileSync(join(folder, name), entries.join("\n"));
  }
  return {
    workspace,
    idOf: (hit: { path: string; heading: string }) =>
      idByPlace.get(`${hit.path.split("/").at(-1)} ${hit.heading}`) ?? "",
    remove: () => rmSync(workspace, { recursive: true, force: true }),
  };
}
