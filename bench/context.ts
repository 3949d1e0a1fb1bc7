/**
 * Context assembly with 1,000 candidates (memory hits, earlier exchanges, triggered skills) and its snapshot, against a plain
 * join of the same texts in the same run. Also assembly for one line in a new conversation. Prints one JSON line.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContextBuilder } from "../src/context/assemble.ts";
import { createHistory } from "../src/context/history-store.ts";
import { silentLog } from "../src/lib/log.ts";
import { createRedactor } from "../src/lib/redact.ts";
import type { SkillBrief } from "../src/ports/context.ts";
import type { Memory, MemoryHit } from "../src/ports/memory.ts";
import type { InboundMessage, Json } from "../src/ports/message.ts";
import type { TurnRecord } from "../src/ports/turn.ts";
import { percentile } from "./statistics.ts";

const rounds = 200;
const exchanges = 100;
const [hitCount, skillCount] = [450, 450];
const words = "the deployment of the orders service failed again because the certificate had expired on Tuesday ";

const workspace = mkdtempSync(join(tmpdir(), "bench-context-"));
const hits = Array.from({ length: hitCount }, (_, index): MemoryHit => {
  const path = `brain/hippocampus/episodes/channel:c/2026-01-${index}.md`;
  return {
    path,
    heading: `note ${index}`,
    at: "",
    scope: "channel:c",
    score: hitCount - index,
    origins: [],
    text: `${index} ${words.repeat(3)}`,
  };
});
const skills = Array.from({ length: skillCount }, (_, index): SkillBrief => {
  const triggers = [`topic${index}`, "certificate"];
  return {
    name: `skill-${index}`,
    description: words.slice(0, 90),
    triggers,
    isCapability: false,
    body: words.repeat(5),
  };
});

try {
  const full = createBuilder(hits, skills);
  for (let index = 0; index < exchanges; index++)
    await full.remember(turnOf(`e${index}`, "bench:full", words.repeat(4)));
  const small = createBuilder([], skills.slice(0, 20));
  const texts = [
    ...hits.map((hit) => hit.text),
    ...skills.map((skill) => skill.body),
    ...Array(exchanges).fill(words.repeat(8)),
  ];
  const [assembly, oneLine, join] = [[], [], []] as [number[], number[], number[]];
  for (let round = 0; round < rounds; round++) {
    assembly.push(await timed(() => full.build(inputOf(`f${round}`, "bench:full", "why did the certificate expire?"))));
    oneLine.push(await timed(() => small.build(inputOf(`s${round}`, "bench:small", "ping"))));
    join.push(await timed(async () => texts.join("\n\n").length));
  }
  const built = await full.build(inputOf("last", "bench:full", "why did the certificate expire?"));
  const figures = {
    bench: "context",
    candidates: hitCount + skillCount + exchanges,
    estimatedTokens: built.estimatedTokens,
    assemblyMs: { median: percentile(assembly, 0.5), p95: percentile(assembly, 0.95) },
    oneLineMs: { median: percentile(oneLine, 0.5), p95: percentile(oneLine, 0.95) },
    bareJoinMs: { median: percentile(join, 0.5), p95: percentile(join, 0.95) },
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
  rmSync(workspace, { recursive: true, force: true });
}

function createBuilder(found: MemoryHit[], briefs: SkillBrief[]) {
  const values = new Map<string, string>();
  const memory: Memory = {
    // Real searches return far fewer.
    search: async () => found,
    stillKnown: async (sources) => [...sources],
    digest: async () => "shell_exec: approved 3 times",
    saveEpisode: async () => {},
    changeEpisode: async () => {},
    recordFeedback: async () => {},
    close: async () => {},
  };
  const store = {
    get: async (key: string) => JSON.parse(values.get(key) ?? "null") as Json | undefined,
    set: async (key: string, value: Json) => void values.set(key, JSON.stringify(value)),
    delete: async (key: string) => void values.delete(key),
    close: async () => {},
  };
  const read = async (key: string) => (values.has(key) ? await store.get(key) : undefined);
  return createContextBuilder({
    ephemeral: { get: () => undefined },
    workspace,
    isCompacting: false,
    history: createHistory({ store: { ...store, get: read }, log: silentLog, idleMs: null, maxTokens: 16_000 }),
    memory,
    skills: () => briefs,
    tools: () => [],
    config: {
      contextTokens: 32_000,
      shares: { identity: 15, prefrontal: 10, memory: 30, skills: 20, history: 25 },
      maxOutputTokens: 4_096,
    },
    redact: createRedactor(["a-configured-secret"]),
    log: silentLog,
    defaultModel: "bench/model",
  });
}

function turnOf(id: string, conversationId: string, text: string): TurnRecord {
  const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
  const scope = "channel:c";
  const about = { platform: "bench", conversationId, scope, isAddressed: true, isDirect: false } as const;
  const message: InboundMessage = { ...about, id, author, text, attachments: [], at: 1 };
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return {
    id,
    conversationId,
    scope,
    messages: [message],
    target: { platform: "bench", conversationId, turnId: id, messageId: id },
    workingFolder: workspace,
    steps: [{ text, calls: [], stop: "end", model: "m", requestedModel: "m", usage, at: 1 }],
    startedAt: 1,
    endedAt: 1,
    isDelivered: true,
  };
}

function inputOf(id: string, conversationId: string, text: string) {
  return { turn: { ...turnOf(id, conversationId, text), steps: [] }, step: 1, tools: [], notes: [] };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
