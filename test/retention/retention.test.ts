/** A prune over data of random ages: what anything still needs stays, what is old and over goes, and a dry run changes nothing. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRetention } from "../../src/app/retention.ts";
import { pruneText } from "../../src/cli/prune.ts";
import { configSchema } from "../../src/config/schema.ts";
import type { Settings } from "../../src/config/settings.ts";
import { createConversationRegistry } from "../../src/engine/conversation/conversation-registry.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { ApprovalRecord } from "../../src/ports/approval.ts";
import type { DraftRecord } from "../../src/ports/draft.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ScheduleRecord } from "../../src/ports/schedule.ts";
import type { Store } from "../../src/ports/store.ts";
import type { TurnState } from "../../src/ports/turn.ts";
import { createKeyvStore } from "../../src/storage/keyv/store.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";

const dayMs = 86_400_000;
let workspace: string;
let ledger: Ledger;
let store: Store;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "remora-retention-")));
  ledger = createSqliteLedger({ path: ":memory:" });
  store = createKeyvStore({ path: ":memory:" });
});
afterEach(async () => {
  await ledger.close();
  await store.close();
  await rm(workspace, { recursive: true });
});

/** The same numbers for the same seed. */
function createRandom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const retentionNow = (changes: object = {}) =>
  openRetention(
    { workspace, data: join(workspace, "data"), config: configSchema.parse({ retention: changes }) } as Settings,
    { ledger, store },
    silentLog,
  );

async function write(path: string, ageDays: number): Promise<void> {
  const whole = join(workspace, path);
  await mkdir(dirname(whole), { recursive: true });
  await writeFile(whole, "some text");
  const at = new Date(Date.now() - ageDays * dayMs);
  for (let one = whole; one !== workspace; one = dirname(one)) await utimes(one, at, at);
}

async function keepTurn(id: string, conversationId: string, state: TurnState): Promise<void> {
  const body = turnRecord({ id, conversationId, scope: `channel:${conversationId}` });
  await ledger.create("turn", id, { state, body, group: conversationId });
}

function exchange(turnId: string, ageDays: number) {
  const endedAt = Date.now() - ageDays * dayMs;
  const message = { author: "Ann", authorId: "test:ann", isBot: false, at: endedAt, text: "hello", attachments: [] };
  return { turnId, endedAt, messages: [message], steps: [], tokens: { fresh: 1, stale: 1 } };
}

/** What can hold on to a conversation. `none` and `ended long ago` do not. */
const needs = [
  "none",
  "running",
  "parked",
  "recent",
  "queued",
  "card",
  "draft",
  "schedule",
  "undo",
  "long ago",
] as const;

interface Case {
  id: string;
  need: (typeof needs)[number];
  ageDays: number;
}

async function prepare({ id, need, ageDays }: Case): Promise<void> {
  const scope = `channel:${id}` as const;
  const folder = join(workspace, "files", scope);
  const place = { conversationId: id, scope };
  await ledger.create("conversation", id, { state: "known", body: { scope, userIds: ["ann"] }, group: scope });
  await store.set(`history:${id}`, { version: 1, exchanges: [exchange(`turn${id}`, ageDays)] });
  await write(`files/${scope}/notes.txt`, ageDays);
  await write(`brain/motor/tasks/TASK-turn${id}.md`, ageDays);
  await write(`outputs/${scope}/turn${id}-call1.txt`, ageDays);
  await write(`brain/prefrontal/.debug/20250101T000000000Z-turn${id}-1.md`, ageDays);
  switch (need) {
    case "running":
    case "parked":
      return await keepTurn(`turn${id}`, id, need);
    case "recent":
      return await keepTurn(`turn${id}`, id, "done");
    case "queued": {
      const body = inboundMessage({ id: `m${id}`, ...place });
      return void (await ledger.create("message", `test:m${id}`, { state: "queued", body, group: id }));
    }
    case "card": {
      const body = { ...place, workingFolder: folder } as ApprovalRecord;
      return void (await ledger.create("approval", `a${id}`, { state: "open", body, group: `turn${id}` }));
    }
    case "draft": {
      const body = { ...place, folder } as DraftRecord;
      return void (await ledger.create("draft", `d${id}`, { state: "open", body, group: id }));
    }
    case "schedule": {
      const body = { ...place } as ScheduleRecord;
      return void (await ledger.create("schedule", `s${id}`, { state: "active", body, group: scope }));
    }
    case "undo": {
      const state = { kind: "keep", state: "done", base: folder, at: Date.now(), paths: 1, bytes: 9 };
      const entry = { version: 1, id: `u${id}`, ...state, isElsewhere: false, opened: [] };
      return await writeUndo(`u${id}`, entry);
    }
    default:
  }
}

async function writeUndo(id: string, entry: object): Promise<void> {
  const folder = join(workspace, "drafts", "undo", id);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "entry.json"), JSON.stringify(entry));
}

const hasTurn = (need: Case["need"]) => need === "running" || need === "parked" || need === "recent";

async function whatIsLeft({ id }: Case) {
  const at = (path: string) => existsSync(join(workspace, path));
  return {
    history: (await store.get(`history:${id}`)) !== undefined,
    entry: (await ledger.get("conversation", id))?.state === "known",
    folder: at(`files/channel:${id}/notes.txt`),
    task: at(`brain/motor/tasks/TASK-turn${id}.md`),
    output: at(`outputs/channel:${id}/turn${id}-call1.txt`),
    snapshot: at(`brain/prefrontal/.debug/20250101T000000000Z-turn${id}-1.md`),
  };
}

describe("a prune over random ages", () => {
  test.each([1, 2, 3])("keeps what is needed or young, and only that (seed %i)", async (seed) => {
    const random = createRandom(seed);
    const cases = Array.from(
      { length: 60 },
      (_, index): Case => ({
        id: `c${index}`,
        need: needs[random(needs.length)] ?? "none",
        // Never near a limit, so that the time that the test takes does not matter.
        ageDays: (random(2) === 0 ? random(400) : 400 + random(2_000)) + 0.5,
      }),
    );
    for (const one of cases) await prepare(one);
    const before = await Promise.all(cases.map(whatIsLeft));
    const dry = await retentionNow().prune(true);
    expect(await Promise.all(cases.map(whatIsLeft))).toEqual(before);
    const wet = await retentionNow().prune(false);
    expect(wet).toEqual(dry);
    for (const one of cases) {
      const { need, ageDays } = one;
      const isHeld = !["none", "undo", "long ago"].includes(need);
      expect({ ...one, ...(await whatIsLeft(one)) }).toEqual({
        ...one,
        history: isHeld || ageDays < 180,
        // The entry itself is new; only its history has an age.
        entry: true,
        folder: isHeld || need === "undo" || ageDays < 365,
        task: hasTurn(need) || ageDays < 90,
        output: hasTurn(need) || ageDays < 30,
        snapshot: hasTurn(need) || ageDays < 30,
      });
    }
    // Nothing is left to remove.
    expect((await retentionNow().prune(false)).map(({ items }) => items)).toEqual(wet.map(() => 0));
  });
});

test("null keeps everything, and a kind that fails does not stop the others", async () => {
  await prepare({ id: "c1", need: "none", ageDays: 5_000 });
  const never = { historyDays: null, taskFileDays: null, outputDays: null, snapshotDays: null, folderDays: null };
  const before = await whatIsLeft({ id: "c1", need: "none", ageDays: 0 });
  await retentionNow(never).prune(false);
  expect(await whatIsLeft({ id: "c1", need: "none", ageDays: 0 })).toEqual(before);
  store.get = () => Promise.reject(new Error("the store is away"));
  const reports = await retentionNow().prune(false);
  expect(reports.filter(({ items }) => items > 0).map(({ name }) => name)).toEqual([
    "task files",
    "long outputs",
    "prompt snapshots",
    "working folders",
  ]);
});

test("sizes count what there is; the command says what would go, and what went", async () => {
  await prepare({ id: "c1", need: "none", ageDays: 1 });
  await prepare({ id: "c2", need: "none", ageDays: 100 });
  const retention = retentionNow();
  expect((await retention.sizes()).map(({ name, items }) => [name, items])).toEqual([
    ["conversation histories", 2],
    ["conversation entries", 2],
    ["task files", 2],
    ["long outputs", 2],
    ["journals of turns", 0],
    ["copies of posted files", 0],
    ["prompt snapshots", 2],
    ["working folders", 2],
  ]);
  const text = pruneText(await retention.prune(true), true);
  expect(text).toContain("task files (older than 90 days): 1, 9 B\n");
  expect(text).toContain("3 items, 27 B would be removed. Nothing was changed.\n");
  expect(pruneText(await retention.prune(false), false)).toContain("3 items, 27 B removed.\n");
  expect(pruneText(await retention.prune(false), false)).toContain("Nothing is old enough.\n");
});

test("the entry of a conversation goes after its history, in two steps, and comes back if somebody asks in between", async () => {
  const path = join(workspace, "ledger.db");
  await ledger.close();
  ledger = createSqliteLedger({ path });
  const registry = createConversationRegistry(ledger);
  for (const id of ["gone", "back"]) {
    await prepare({ id, need: "none", ageDays: 200 });
    await rm(join(workspace, "files"), { recursive: true });
  }
  const age = (hours: number) => {
    const raw = new DatabaseSync(path);
    raw.exec(
      `UPDATE entry SET created_at = created_at - ${hours * 3_600_000}, updated_at = updated_at - ${hours * 3_600_000} WHERE kind = 'conversation'`,
    );
    raw.close();
  };
  age(200 * 24);
  expect((await retentionNow().prune(true)).map(({ items }) => items).slice(0, 2)).toEqual([2, 2]);
  await retentionNow().prune(false);
  const states = async () => (await ledger.list("conversation", {})).map(({ id, state }) => [id, state]);
  expect(await states()).toEqual([
    ["gone", "ended"],
    ["back", "ended"],
  ]);
  const messages = [inboundMessage({ conversationId: "back" })];
  await registry.note({ ...turnRecord({ conversationId: "back", scope: "channel:back", messages }) });
  age(2);
  await retentionNow().prune(false);
  expect(await states()).toEqual([["back", "known"]]);
});
