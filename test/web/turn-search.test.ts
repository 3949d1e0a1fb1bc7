import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FoundTurns } from "../../src/web/endpoints/turn-search.ts";
import { inboundMessage } from "../doubles/records.ts";
import { addTurn, createDashboardWorld, type DashboardWorld } from "./dashboard-world.ts";

let world: DashboardWorld;

beforeEach(async () => {
  world = await createDashboardWorld();
});
afterEach(() => world.close());

async function find(query: Record<string, string | number> = {}): Promise<FoundTurns> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  const response = await world.get(`/dashboard/data/turns?${search}`);
  expect(response.status).toBe(200);
  return (await response.json()) as FoundTurns;
}

const ids = ({ turns }: FoundTurns) => turns.map(({ id }) => id);

describe("with three turns", () => {
  beforeEach(async () => {
    const ben = { id: "ben", name: "Ben <b>", isBot: false, roles: [] };
    await addTurn(world.ledger, "done", { id: "t1", messages: [inboundMessage({ text: "deploy the site" })] });
    await addTurn(world.ledger, "failed", { id: "t2", messages: [inboundMessage({ author: ben, text: "say hello" })] });
    await addTurn(world.ledger, "done", { id: "t3", conversationId: "test:c2" });
  });

  test("newest first; person, words, state and conversation narrow it", async () => {
    expect(ids(await find())).toEqual(["t3", "t2", "t1"]);
    expect(ids(await find({ person: "ben" }))).toEqual(["t2"]);
    expect(ids(await find({ text: "DEPLOY" }))).toEqual(["t1"]);
    expect(ids(await find({ state: "failed" }))).toEqual(["t2"]);
    expect(ids(await find({ conversation: "test:c2" }))).toEqual(["t3"]);
    expect(ids(await find({ person: "nobody" }))).toEqual([]);
  });

  test("a day is a range of times", async () => {
    const entries = await world.ledger.list("turn", {});
    const [first = 0, last = 0] = [entries[0]?.createdAt, entries.at(-1)?.createdAt];
    expect(ids(await find({ from: first, to: last + 1 }))).toEqual(["t3", "t2", "t1"]);
    expect(ids(await find({ from: last + 1 }))).toEqual([]);
    expect(ids(await find({ to: first }))).toEqual([]);
  });

  test("odd characters in the search or an id find nothing, and break nothing", async () => {
    expect(ids(await find({ text: "%_'\"\\\u0000<>", person: "'; DROP TABLE entry;--" }))).toEqual([]);
    for (const id of ["%2e%2e%2fsecrets", "a%00b", "%F0%9F%90%9F", "x".repeat(200), "__proto__"]) {
      expect((await world.get(`/dashboard/data/turns/${id}`)).status).toBe(404);
      expect((await world.get(`/dashboard/data/turns/${id}/log`)).status).toBe(404);
      expect((await world.get(`/dashboard/data/turns/${id}/prompts/1`)).status).toBe(404);
    }
    expect((await world.get(`/dashboard/data/turns/${"x".repeat(300)}`)).status).toBe(400);
    expect((await world.get("/dashboard/data/turns?before=-1")).status).toBe(400);
    expect((await world.get("/dashboard/data/turns?state=open")).status).toBe(400);
  });
});

describe("with 10,000 turns", () => {
  const count = 10_000;

  beforeEach(async () => {
    for (let number = 0; number < count; number++) {
      const name = number === 3 ? "Early Bird" : "Ann";
      const author = { id: "ann", name, isBot: false, roles: [] };
      await addTurn(world.ledger, "done", { id: `t${number}`, messages: [inboundMessage({ author })] });
    }
  });

  test("a page has 50 of them, and following the pages shows each turn once", async () => {
    const first = await find();
    expect(ids(first)).toEqual(Array.from({ length: 50 }, (_, index) => `t${count - 1 - index}`));
    const second = await find({ before: first.older ?? 0 });
    expect(ids(second)[0]).toBe(`t${count - 51}`);
    const seen = new Set<string>();
    let older: number | null = first.older;
    for (let pages = 0; older !== null && pages < 500; pages++) {
      const page: FoundTurns = await find({ before: older });
      for (const id of ids(page)) expect(seen.add(id).size).toBeGreaterThan(0);
      older = page.older;
    }
    expect(seen.size).toBe(count - 50);
  });

  test("a rare match is found by searching on, and each request looks at a limited number", async () => {
    let found = await find({ person: "Early Bird" });
    expect([found.turns.length, found.older !== null, found.searchedTo !== null]).toEqual([0, true, true]);
    let requests = 1;
    for (; found.turns.length === 0 && found.older !== null; requests++) {
      found = await find({ person: "Early Bird", before: found.older });
    }
    expect(ids(found)).toEqual(["t3"]);
    expect(requests).toBeLessThanOrEqual(count / 500);
  });

  test("the first page does not read the others", async () => {
    const listed: number[] = [];
    const ledger: typeof world.ledger = {
      ...world.ledger,
      async list(kind, options) {
        const entries = await world.ledger.list(kind, options);
        listed.push(entries.length);
        return entries;
      },
    };
    const other = await createDashboardWorld({ ledger });
    await other.get("/dashboard/data/turns");
    await other.get("/dashboard/data");
    await other.close();
    expect(listed.every((length) => length <= 50)).toBe(true);
  });
});
