/** What memory holds, scope by scope. The operator can search, read, correct and delete it. */
import type { Hono } from "hono";
import { z } from "zod";
import type { Mask } from "../../lib/redact.ts";
import { asPlain, oneLine } from "../../lib/text/sanitize.ts";
import type { MemoryHit, MemoryQuery } from "../../ports/memory.ts";
import type { MemoryScope } from "../../ports/message.ts";
import type { Operate } from "./operate.ts";
import { acting, type Receipt, reading } from "./respond.ts";

type MemoryKind = "episode" | "knowledge" | "feedback";

interface MemoryFile {
  path: string;
  scope: string;
  kind: MemoryKind;
  title: string;
}

type MemoryChange = { type: "done" } | { type: "gone" } | { type: "refused"; reason: string };

export interface MemoryPages {
  scopes(): { scope: string; files: Record<MemoryKind, number> }[];
  files(scope: string): MemoryFile[];
  read(
    path: string,
  ): Promise<{ file: MemoryFile; entries: { hash: string; text: string; canCorrect: boolean }[] } | undefined>;
  search(query: MemoryQuery): Promise<MemoryHit[]>;
  correct(path: string, hash: string, text: string): Promise<MemoryChange>;
  /** Also removes the entry from the search index. */
  remove(path: string, hash: string): Promise<MemoryChange>;
}

const pageSize = 50;
const maxHits = 50;
const maxEntryCharacters = 100_000;
const maxShownCharacters = 20_000;
const maxHitCharacters = 600;
const maxNameCharacters = 200;
const page = z.coerce.number().int().min(1).max(100_000).default(1);
const path = z.string().min(1).max(1_000);
const hash = z.string().min(1).max(64);
const scope = z.string().max(400);

export function mountMemory(
  app: Hono,
  { memory, mask, operate }: { memory: MemoryPages; mask: Mask; operate: Operate },
): void {
  reading(app, "/dashboard/data/memory/scopes", z.object({}), async () => ({
    scopes: memory.scopes().toSorted((one, other) => one.scope.localeCompare(other.scope, "en")),
  }));
  reading(app, "/dashboard/data/memory/files", z.object({ scope, page }), async (wanted) =>
    paged(memory.files(wanted.scope), wanted.page),
  );
  reading(app, "/dashboard/data/memory/file", z.object({ path, page }), async (wanted) => {
    const found = await memory.read(wanted.path);
    if (found === undefined) return undefined;
    const entries = paged(found.entries, wanted.page);
    const rows = entries.rows.map((entry) => ({
      ...entry,
      text: asPlain(entry.text).slice(0, maxShownCharacters),
      // A shortened or cleaned text must not replace the whole one.
      canCorrect:
        entry.canCorrect && mask(asPlain(entry.text)) === entry.text && entry.text.length <= maxShownCharacters,
    }));
    return { file: found.file, ...entries, rows };
  });
  const query = z.string().trim().min(1).max(500);
  reading(app, "/dashboard/data/memory/search", z.object({ query, scope: scope.optional() }), async (wanted) => {
    // The operator's documents are shared, also while no memory file is.
    const all = new Set([...memory.scopes().map((one) => one.scope), "shared"]);
    const scopes = (wanted.scope ? [wanted.scope] : [...all]) as MemoryScope[];
    const hits = await memory.search({ query: wanted.query, scopes, limit: maxHits });
    return { hits: hits.map(shownHit) };
  });
  mountChanges(app, memory, operate);
}

function mountChanges(app: Hono, memory: MemoryPages, operate: Operate): void {
  acting(app, "/dashboard/memory/correct", {
    schema: z.strictObject({ path, hash, text: z.string().min(1).max(maxEntryCharacters) }),
    invalid: `To correct an entry, send its path, hash and new text of at most ${maxEntryCharacters} characters.`,
    act: (wanted, visitor) =>
      operate(visitor, { action: "memory.correct", subject: wanted.path, detail: `entry ${wanted.hash}` }, async () =>
        receiptOf(await memory.correct(wanted.path, wanted.hash, wanted.text), "Corrected."),
      ),
  });
  acting(app, "/dashboard/memory/delete", {
    schema: z.strictObject({ path, hash }),
    invalid: "To delete an entry, send its path and hash.",
    act: (wanted, visitor) =>
      operate(visitor, { action: "memory.delete", subject: wanted.path, detail: `entry ${wanted.hash}` }, async () =>
        receiptOf(await memory.remove(wanted.path, wanted.hash), "Deleted."),
      ),
  });
}

function receiptOf(change: MemoryChange, done: string): Receipt {
  if (change.type === "done") return { accepted: true, text: done };
  if (change.type === "refused") return { accepted: false, text: `Not saved. ${change.reason}` };
  return {
    accepted: false,
    text: "Not saved: somebody has changed or deleted this entry meanwhile. The page shows it as it is now.",
  };
}

function paged<T>(all: readonly T[], number: number): { rows: T[]; count: number; page: number; pageSize: number } {
  const start = (number - 1) * pageSize;
  return { rows: all.slice(start, start + pageSize), count: all.length, page: number, pageSize };
}

function shownHit({ path: found, heading, at, scope: where, text }: MemoryHit) {
  return {
    path: found,
    heading: oneLine(heading, maxNameCharacters),
    at,
    scope: where,
    text: asPlain(text).slice(0, maxHitCharacters),
  };
}
