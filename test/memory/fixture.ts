/** A memory on a temporary workspace, and the Markdown that a test writes into it by hand. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { searchThread } from "../../src/app/search-thread.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { Log } from "../../src/lib/log.ts";
import { createRedactor } from "../../src/lib/redact.ts";
import { createMemory, type MemoryOptions, type OwnedMemory } from "../../src/memory/memory.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import type { Episode, Feedback } from "../../src/ports/memory.ts";
import type { Author } from "../../src/ports/message.ts";

export const secret = "a-very-secret-value";
export const noon = Date.UTC(2026, 10, 21, 12);
export const ann: Author = { id: "U1", name: "Ann", isBot: false, roles: [] };
export const bob: Author = { id: "U2", name: "Bob", isBot: false, roles: [] };

export interface MemoryFixture {
  workspace: string;
  indexFile: string;
  memory: OwnedMemory;
  events: RemoraEvent[];
  warnings: string[];
  /** Another memory on the same files, as after a restart. */
  reopen(changes?: Partial<MemoryOptions>): OwnedMemory;
  write(path: string, text: string | Uint8Array): void;
  read(path: string): string;
  list(path: string): string[];
  remove(): Promise<void>;
}

export function createMemoryFixture(changes: Partial<MemoryOptions> = {}): MemoryFixture {
  const root = mkdtempSync(join(tmpdir(), "remora-memory-"));
  const workspace = join(root, "workspace");
  const indexFile = join(root, "data", "memory.db");
  const events = createEvents();
  const [heard, warnings, opened]: [RemoraEvent[], string[], OwnedMemory[]] = [[], [], []];
  events.listen((event) => heard.push(event));
  const warn = (fields: object, message: string) => warnings.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug() {}, info() {}, warn, error: warn };
  const reopen = (more: Partial<MemoryOptions> = {}) => {
    const redact = createRedactor([secret]);
    const memory = createMemory({
      thread: searchThread,
      workspace,
      indexFile,
      events,
      log,
      redact,
      now: () => noon,
      ...changes,
      ...more,
    });
    opened.push(memory);
    return memory;
  };
  return {
    workspace,
    indexFile,
    memory: reopen(),
    events: heard,
    warnings,
    reopen,
    write(path, text) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    read: (path) => readFileSync(join(workspace, path), "utf8"),
    list: (path) => readdirSync(join(workspace, path), { recursive: true, encoding: "utf8" }).sort(),
    async remove() {
      for (const memory of opened) await memory.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export function episode(changes: Partial<Episode> = {}): Episode {
  return {
    turnId: "t1",
    scope: "channel:general",
    conversationId: "test:c1",
    at: noon,
    users: [ann],
    userText: "Which tests are red?",
    tools: [],
    response: "None: all are green.",
    origins: [],
    outcome: "done",
    ...changes,
  };
}

export function feedback(changes: Partial<Feedback> = {}): Feedback {
  return {
    turnId: "t1",
    scope: "channel:general",
    at: noon,
    tool: "shell_exec",
    summary: '{"command":"ls"}',
    outcome: "ok",
    ...changes,
  };
}

export function shellCall(command: string, text: string): Episode["tools"][number] {
  return {
    call: { id: "c1", name: "shell_exec", input: { command } },
    result: { callId: "c1", name: "shell_exec", status: "ok", text, attempts: 1, durationMs: 5, files: [] },
  };
}
