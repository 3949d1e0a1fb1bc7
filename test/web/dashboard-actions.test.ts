/** What operators can do besides answering: each action is checked, in the audit before it happens, and told to the person. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createMasker } from "../../src/lib/redact.ts";
import type { Schedules } from "../../src/ports/schedule.ts";
import type { Skill, SkillSet } from "../../src/ports/skill.ts";
import { createSchedules } from "../../src/schedules/schedules.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createMemoryFixture, episode, type MemoryFixture } from "../memory/fixture.ts";
import { addTurn, createDashboardWorld, type DashboardWorld } from "./dashboard-world.ts";

const paths = [
  "/turns/stop",
  "/grants/end",
  "/schedules/end",
  "/memory/correct",
  "/memory/delete",
  "/skills/turn",
  "/skills/reload",
];
let world: DashboardWorld;
afterEach(() => world.close());

test("no page shows a configured secret, wherever it is, and a text with one can't be corrected there", async () => {
  const mask = createMasker([{ name: "VAULT_KEY", value: 'hunter2"secret' }]);
  const text = 'the key is hunter2"secret';
  const setting = { key: "a.b", value: text, source: "file", place: text, isDefault: false } as const;
  world = await createDashboardWorld({
    mask,
    settings: () => ({ configFile: "config/remora.yaml", settings: [setting] }) as never,
    status: () => [{ name: "redis", state: "error", detail: text } as never],
    prompts: async () => [{ step: 1, read: async () => text }],
    log: async () => ({ lines: [{ at: "", event: "x", fields: text }], next: null }),
    memory: {
      ...{ scopes: () => [], files: () => [], search: async () => [], correct: async () => ({ type: "gone" }) },
      read: async () => ({ file: {} as never, entries: [{ hash: "h", text, canCorrect: true }] }),
      remove: async () => ({ type: "refused", reason: text }),
    },
  });
  await addTurn(world.ledger, "done", { id: "t1" });
  const pages = ["settings", "health", "turns/t1/log", "turns/t1/prompts/1", "memory/file?path=x"];
  for (const page of pages) {
    const shown = await (await world.get(`/dashboard/data/${page}`)).text();
    expect(shown, page).not.toMatch(/hunter2/);
    expect(() => JSON.parse(shown), page).not.toThrow();
    if (page !== "health") expect(shown, page).toContain("[VAULT_KEY, ");
    if (page.startsWith("memory")) expect(shown).toContain('"canCorrect":false');
  }
  expect(await (await world.post("/dashboard/memory/delete", { path: "x", hash: "h" })).text()).not.toContain(
    "hunter2",
  );
});

describe("every action", () => {
  beforeEach(async () => {
    world = await createDashboardWorld();
  });

  test.each(paths)("%s needs the token and this origin, and refuses a wrong or too large body", async (path) => {
    const address = `/dashboard${path}`;
    expect((await world.post(address, {}, {})).status).toBe(401);
    const foreign = { authorization: "Bearer a-token-for-this-test", origin: "http://evil.example" };
    expect((await world.post(address, {}, foreign)).status).toBe(403);
    for (const body of ["no JSON", { unknown: true }, [], null]) {
      const response = await world.post(address, body as object);
      expect([response.status, await response.json()]).toMatchObject([400, { accepted: false }]);
    }
    expect((await world.post(address, "x".repeat(300_000))).status).toBe(413);
    expect((await world.get(address)).status).toBe(404);
    expect(world.audit.lines).toEqual([]);
  });
});

test("a grant is listed with what it allows, and ended once", async () => {
  const grant = {
    ...{ id: "g1", platform: "test", conversationId: "c1", skill: "shell", pattern: "rm", reason: "it may delete" },
    by: { id: "ben", name: "Ben", isBot: false, roles: [] },
    ...{ createdAt: 1, givenAt: 1, expiresAt: Date.now() + 60_000 },
    origin: {
      approvalId: "a",
      cardId: "k",
      turnId: "t1",
      userId: "ann",
      scope: "channel:c1" as const,
      tool: "shell_exec",
    },
  };
  const ended: string[] = [];
  world = await createDashboardWorld({
    approvals: {
      ...{
        listOpen: async () => [],
        decide: async () => ({ accepted: false, text: "" }),
        decideAs: async () => ({ accepted: false, text: "" }),
        answerable: async () => new Set(),
        diffOf: async () => undefined,
      },
      listGrants: async () => [grant],
      async revokeGrant(id) {
        ended.push(id);
        return { accepted: true, text: "Revoked." };
      },
    },
  });
  expect(await (await world.get("/dashboard/data/grants")).json()).toMatchObject({
    grants: [{ id: "g1", allows: "“it may delete”", by: "Ben", turnId: "t1" }],
    more: 0,
  });
  expect(await (await world.post("/dashboard/grants/end", { id: "g1" })).json()).toEqual({
    accepted: true,
    text: "Revoked.",
  });
  expect(ended).toEqual(["g1"]);
  expect(world.audit.lines[0]).toMatchObject({ fields: { action: "grant.end", subject: "g1" } });
});

test("schedules of everybody are listed soonest first in pages, and a deleted one is gone for good", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const schedules: Schedules = createSchedules({
    ledger,
    log: silentLog,
    accept: async () => {},
    ownerNow: async ({ owner }) => owner,
  });
  world = await createDashboardWorld({ schedules });
  for (let number = 0; number < 60; number++) {
    const owner = { id: `u${number}`, name: `Person ${number}`, isBot: false, roles: [] };
    await schedules.add({
      ...{ platform: "test", conversationId: "c", scope: "channel:c", owner, purpose: "do", text: `task ${number}` },
      time: { type: "once", at: Date.now() + (100 - number) * 60_000 },
    });
  }
  const first = (await (await world.get("/dashboard/data/schedules")).json()) as {
    schedules: { id: string; text: string }[];
    count: number;
  };
  expect([first.schedules.length, first.count, first.schedules[0]?.text]).toEqual([50, 60, "task 59"]);
  const second = (await (await world.get("/dashboard/data/schedules?page=2")).json()) as typeof first;
  expect(second.schedules).toHaveLength(10);
  const end = async () => (await world.post("/dashboard/schedules/end", { id: first.schedules[0]?.id })).json();
  expect(await end()).toMatchObject({ accepted: true });
  expect(await end()).toEqual({ accepted: false, text: "This schedule has already ended." });
  expect((await schedules.all()).map(({ text }) => text)).not.toContain("task 59");
  await ledger.close();
});

describe("memory", () => {
  let fixture: MemoryFixture;
  const path = "brain/hippocampus/episodes/channel:general/2026-11-21.md";
  beforeEach(async () => {
    fixture = createMemoryFixture();
    await fixture.memory.saveEpisode(episode());
    world = await createDashboardWorld({ memory: { ...fixture.memory.desk, search: fixture.memory.search } });
  });
  afterEach(() => fixture.remove());

  const file = async () =>
    (await (await world.get(`/dashboard/data/memory/file?${new URLSearchParams({ path })}`)).json()) as {
      rows: { hash: string; text: string }[];
      count: number;
    };

  test("is searched over all scopes, read, corrected and deleted; the audit has no content", async () => {
    const found = await (await world.get("/dashboard/data/memory/search?query=tests+red")).json();
    expect(found).toMatchObject({ hits: [{ path, scope: "channel:general" }] });
    const [entry] = (await file()).rows;
    const text = entry?.text.replace("green", "blue");
    const corrected = await world.post("/dashboard/memory/correct", { path, hash: entry?.hash, text });
    expect(await corrected.json()).toEqual({ accepted: true, text: "Corrected." });
    const again = await world.post("/dashboard/memory/delete", { path, hash: entry?.hash });
    expect(await again.json()).toMatchObject({ accepted: false, text: expect.stringContaining("changed or deleted") });
    const [changed] = (await file()).rows;
    expect(changed?.text).toContain("blue");
    await world.post("/dashboard/memory/delete", { path, hash: changed?.hash });
    expect(await file()).toMatchObject({ rows: [], count: 0 });
    expect(JSON.stringify(world.audit.lines)).not.toContain("blue");
    expect(world.audit.lines.map(({ fields }) => fields)).toMatchObject([
      { action: "memory.correct", subject: path, detail: `entry ${entry?.hash}` },
      { action: "memory.delete" },
      { action: "memory.delete" },
    ]);
  });

  test("a search over all scopes finds the operator's documents before any memory is shared", async () => {
    fixture.write("knowledge/wifi.txt", "The password is on the wombat poster.");
    await fixture.memory.refreshDocuments();
    const found = await (await world.get("/dashboard/data/memory/search?query=wombat")).json();
    expect(found).toMatchObject({ hits: [{ path: "knowledge/wifi.txt", scope: "shared" }] });
  });

  test("10,000 entries are shown 50 at a time", async () => {
    for (let number = 0; number < 10_000; number++) {
      fixture.write(`brain/hippocampus/knowledge/channel:big/note-${number}.md`, `# Note ${number}\n\ntext`);
    }
    const response = await world.get("/dashboard/data/memory/files?scope=channel%3Abig&page=200");
    const { rows, count } = (await response.json()) as { rows: { title: string }[]; count: number };
    expect([rows.length, count, rows.at(-1)?.title]).toEqual([50, 10_000, "note-9999"]);
    const past = await world.get("/dashboard/data/memory/files?scope=channel%3Abig&page=201");
    expect(await past.json()).toMatchObject({ rows: [] });
  });
});

test("skills are turned off and on with an audit line, and none is invented", async () => {
  const skill = {
    name: "shell",
    version: "1",
    description: "Runs commands",
    path: "/s/shell/SKILL.md",
    tools: [],
  } as unknown as Skill;
  const set: SkillSet = {
    skills: [skill],
    diagnostics: [
      { path: "/s/shell/SKILL.md", line: 7, severity: "warning", code: "x", message: "the pattern ends in $" },
      { path: "/s/broken", line: 1, severity: "error", code: "y", message: "no name" },
    ],
  };
  const off = new Set<string>();
  world = await createDashboardWorld({
    skills: {
      ...{ current: () => set, isIsolated: () => true, reload: async () => set },
      stateOf: ({ name }) => (off.has(name) ? "off" : "on"),
      async turn(name, isOn) {
        if (isOn) off.delete(name);
        else off.add(name);
      },
    },
  });
  const data = await (await world.get("/dashboard/data/skills")).json();
  expect(data).toMatchObject({
    skills: [{ name: "shell", state: "on", diagnostics: [{ line: 7 }] }],
    broken: [{ path: "/s/broken", diagnostics: [{ message: "no name" }] }],
  });
  const turn = async (name: string, isOn: boolean) =>
    (await world.post("/dashboard/skills/turn", { name, isOn })).json();
  expect(await turn("shell", false)).toMatchObject({ accepted: true, text: expect.stringMatching(/^shell is off\./) });
  expect(off).toEqual(new Set(["shell"]));
  expect(await turn("shell", true)).toEqual({ accepted: true, text: "shell is on again." });
  expect(await turn("nothing", false)).toMatchObject({ accepted: false });
  const reload = await (await world.post("/dashboard/skills/reload", {})).json();
  expect(reload).toEqual({ accepted: true, text: "Read again: 1 skills, 2 files with problems." });
  expect(world.audit.lines.map(({ fields }) => fields)).toEqual([
    { action: "skill.off", subject: "shell" },
    { action: "skill.on", subject: "shell" },
    { action: "skills.reload", subject: "all skills" },
  ]);
});

test("usage names people and says what people think, without characters that hide or turn a name", async () => {
  const amount = { day: "2026-11-22", calls: 2, cost: 0.5, unpricedCalls: 1, addedMs: 1 };
  const count = { ...amount, inputTokens: 1, outputTokens: 5, cacheReadTokens: 6, cacheWriteTokens: 3 };
  const person = { id: "u1", platform: "slack", name: "An\u202Enn\n", today: count, total: count };
  const rating = {
    turnId: "t1",
    platform: "slack",
    conversationId: "c",
    scope: "channel:c" as const,
    at: 1,
    hasWords: true,
  };
  world = await createDashboardWorld({
    usage: {
      budgets: async ({ user }) => [
        { kind: "user", used: 1.5, limit: user.id === "" ? 0 : 4, added: 2 },
        { kind: "channel", used: 3, limit: 3, added: 0 },
      ],
      overview: async () => ({
        today: "",
        days: [count],
        people: [person],
        channels: [],
        models: [],
        isComplete: true,
      }),
    },
    ratings: {
      counts: async () => ({ good: 3, bad: 1 }),
      recent: async () => [{ ...rating, by: { id: "u1", name: "Ann\u202E" }, state: "bad" }],
    },
  });
  expect(await (await world.get("/dashboard/data/usage")).json()).toMatchObject({
    people: [
      { name: "Annn", budget: { used: 1.5, limit: 4 }, total: { tokens: 15, cost: 0.5, calls: 2, unpricedCalls: 1 } },
    ],
    days: [{ day: "2026-11-22", tokens: 15, fromCache: "60 %" }],
    ratings: { good: 3, bad: 1, recent: [{ who: "Ann", state: "bad", hasWords: true }] },
  });
});
