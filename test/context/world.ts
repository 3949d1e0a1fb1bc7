/** A context builder in a workspace of its own, with a store and a memory that live in this process. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ContextBuilderOptions, createContextBuilder } from "../../src/context/assemble.ts";
import { createHistory, type HistoryOptions } from "../../src/context/history-store.ts";
import { createMessageChanges } from "../../src/context/message-changes.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createRedactor } from "../../src/lib/redact.ts";
import type { SkillBrief } from "../../src/ports/context.ts";
import type { Memory, MemoryHit, MemoryQuery } from "../../src/ports/memory.ts";
import type { ModelMessage, ModelRequest } from "../../src/ports/provider.ts";
import { createInMemoryStore } from "../doubles/in-memory-store.ts";

export const shares = { identity: 15, prefrontal: 10, memory: 30, skills: 20, history: 25 };

/** What was asked of memory is in `asked`. */
export function createMemoryDouble(hits: MemoryHit[] = [], digest = "") {
  const asked: MemoryQuery[] = [];
  const memory: Memory = {
    async search(query) {
      asked.push(query);
      return hits.filter((hit) => query.scopes.includes(hit.scope)).slice(0, query.limit);
    },
    stillKnown: async (sources) => [...sources],
    digest: async () => digest,
    saveEpisode: async () => {},
    changeEpisode: async () => {},
    recordFeedback: async () => {},
    close: async () => {},
  };
  return { memory, asked };
}

export interface World {
  workspace: string;
  store: ReturnType<typeof createInMemoryStore>;
  /** Which turns have which messages, and what became of them. */
  followed: ReturnType<typeof createInMemoryStore>;
  /** A history over the store, as after a restart. */
  history(changes?: Partial<HistoryOptions>): ReturnType<typeof createHistory>;
  options(changes?: Partial<ContextBuilderOptions>): ContextBuilderOptions;
  builder(changes?: Partial<ContextBuilderOptions>): ReturnType<typeof createContextBuilder>;
  write(path: string, text: string | Uint8Array): void;
  remove(): void;
}

export function createWorld(): World {
  const workspace = mkdtempSync(join(tmpdir(), "context-"));
  const [store, followed] = [createInMemoryStore(), createInMemoryStore()];
  const history = (changes: Partial<HistoryOptions> = {}) =>
    createHistory({
      ...{ store, log: silentLog, idleMs: null, maxTokens: 100_000 },
      changes: createMessageChanges(followed),
      ...changes,
    });
  const options = (changes: Partial<ContextBuilderOptions> = {}): ContextBuilderOptions => ({
    workspace,
    history: history(changes.now === undefined ? {} : { now: changes.now }),
    isCompacting: true,
    memory: createMemoryDouble().memory,
    skills: () => [],
    tools: () => [],
    config: { contextTokens: 32_000, shares, maxOutputTokens: 4_096 },
    ephemeral: { get: () => undefined },
    redact: createRedactor([]),
    log: silentLog,
    defaultModel: "test/model",
    ...changes,
  });
  return {
    workspace,
    store,
    followed,
    history,
    options,
    builder(changes) {
      const builder = createContextBuilder(options(changes));
      return {
        ...builder,
        // Tests read the snapshot of what was built; that it is written without being asked has a test of its own.
        async build(input) {
          const built = await builder.build(input);
          builder.flush();
          return built;
        },
      };
    },
    write(path, text) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    remove: () => rmSync(workspace, { recursive: true, force: true }),
  };
}

export function skillBrief(name: string, changes: Partial<SkillBrief> = {}): SkillBrief {
  return {
    name,
    description: `What ${name} is for`,
    triggers: [],
    isCapability: false,
    body: `Do ${name} well.`,
    ...changes,
  };
}

export function memoryHit(text: string, changes: Partial<MemoryHit> = {}): MemoryHit {
  return {
    path: "brain/hippocampus/episodes/channel:c1/2026-11-01.md",
    heading: "09:00 — a note",
    at: "2026-11-01T09:00:00Z",
    scope: "channel:c1",
    score: 1,
    text,
    origins: [],
    ...changes,
  };
}

export function systemText(request: ModelRequest): string {
  return request.system.map((part) => part.text).join("\n\n");
}

/** All of a prompt, in its order. */
export function promptText(request: ModelRequest): string {
  return [systemText(request), ...request.messages.map(textOfMessage)].join("\n\n");
}

export function textOfMessage(message: ModelMessage | undefined): string {
  if (message === undefined) return "";
  if (message.role !== "user") return message.text;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
