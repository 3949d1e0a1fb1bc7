/** Two processes whose memory is one folder. A process can stall for longer than its lock lasts. */
import fs, { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findFiles } from "../../src/backup/find-files.ts";
import { excludedFromWorkspace } from "../../src/backup/left-out.ts";
import { isTemporaryName } from "../../src/lib/atomic-write.ts";
import { createWithLock } from "../../src/lib/with-lock.ts";
import type { OwnedMemory } from "../../src/memory/memory.ts";
import { stallNext } from "../doubles/stalled-files.ts";
import { createMemoryFixture, episode, feedback, type MemoryFixture } from "./fixture.ts";

const folder = "brain/hippocampus/episodes/channel:general";
const day = `${folder}/2026-11-21.md`;
const isTheirs = (path: string) => path.includes("/brain/hippocampus/") && path.includes("2026-11-21");

let locks: ReturnType<typeof createLocks>;
let fixture: MemoryFixture;
let memories: OwnedMemory[];
beforeEach(() => {
  locks = createLocks();
  fixture = createMemoryFixture({ withLock: locks.withLock });
  memories = [
    fixture.memory,
    fixture.reopen({ indexFile: join(fixture.workspace, "..", "other.db"), withLock: locks.withLock }),
  ];
});
afterEach(() => fixture.remove());

/** Locks that expire when a test says so. */
function createLocks() {
  const held = new Map<string, AbortController>();
  const withLock = createWithLock({
    async acquire(name) {
      if (held.has(name)) return undefined;
      const lost = new AbortController();
      held.set(name, lost);
      return {
        signal: lost.signal,
        async release() {
          if (held.get(name) === lost) held.delete(name);
        },
      };
    },
    close: async () => {},
  });
  const expire = () => {
    const all = [...held.values()];
    held.clear();
    return { notice: () => all.forEach((lost) => void lost.abort()) };
  };
  return { withLock, expire };
}

const turnIds = () => Array.from(fixture.read(day).matchAll(/<!-- turn=(\S+) /g), ([, id]) => id);
const temporary = () => fixture.list(folder).filter(isTemporaryName);

test.each(["open", "rename"] as const)(
  "a process that stalls at %s until its lock has expired removes nothing that another one wrote meanwhile",
  async (where) => {
    const [first, second] = memories;
    await first?.saveEpisode(episode({ turnId: "t0" }));
    const stall = stallNext(where, (path = "") => isTheirs(path) && isTemporaryName(path));
    const stalled = first?.saveEpisode(episode({ turnId: "t1" }));
    await stall.begun;
    const lost = locks.expire();
    await second?.saveEpisode(episode({ turnId: "t2" }));
    // A process learns of its loss from its clock, as soon as it runs again. One that is inside a call does not ask.
    if (where === "open") lost.notice();
    stall.end();
    await stalled;
    expect(turnIds()).toEqual(["t0", "t2", "t1"]);
    expect(temporary()).toEqual([]);
  },
);

test("several changes of a stalled write are all made, each once", async () => {
  const [first, second] = memories;
  const stall = stallNext("rename", (path = "") => path.includes("/basalganglia/"));
  const stalled = ["a", "b", "c"].map((id) => first?.recordFeedback(feedback({ id })));
  await stall.begun;
  locks.expire();
  await second?.recordFeedback(feedback({ id: "d" }));
  stall.end();
  await Promise.all(stalled);
  const [file = ""] = fixture.list("brain/basalganglia").filter((name) => name.endsWith(".md"));
  const lines = fixture.read(`brain/basalganglia/${file}`).split("\n- ");
  expect(lines).toHaveLength(5);
});

test("a stalled write of a note does not replace a newer one, and says so", async () => {
  const [first, second] = memories;
  const stall = stallNext("rename", (path = "") => path.includes("plan.md"));
  const stalled = first?.knowledge.write("shared", "Plan", "old");
  const refused = expect(stalled).rejects.toThrow("Read it, and try again");
  await stall.begun;
  locks.expire();
  await second?.knowledge.write("shared", "Plan", "new");
  stall.end();
  await refused;
  expect(await first?.knowledge.read("shared", "Plan")).toContain("new");
});

test("a stalled delete of a note does not take a newer one with it, and says so", async () => {
  const [first, second] = memories;
  await first?.knowledge.write("shared", "Plan", "old");
  const stall = stallNext("rename", (path = "") => path.endsWith("plan.md"));
  const stalled = first?.knowledge.remove("shared", "Plan");
  const refused = expect(stalled).rejects.toThrow("another process has changed this note");
  await stall.begun;
  locks.expire();
  await second?.knowledge.write("shared", "Plan", "new");
  stall.end();
  await refused;
  expect(await first?.knowledge.read("shared", "Plan")).toContain("new");
  expect(await first?.knowledge.remove("shared", "Plan")).toBe(true);
  expect(fixture.list("brain/hippocampus/knowledge/shared")).toEqual([]);
});

test("a note is gone at once, even if the process is killed before it has removed the file", async () => {
  const [first, second] = memories;
  await first?.knowledge.write("shared", "Plan", "moor at the pier");
  const stall = stallNext("rm", (path = "") => isTemporaryName(path) && statSync(path).isDirectory());
  const stalled = first?.knowledge.remove("shared", "Plan");
  await stall.begun;
  const left = "brain/hippocampus/knowledge/shared";
  expect(fixture.list(left)).toEqual([expect.stringMatching(/\.part$/), expect.stringMatching(/\.part\/removed$/)]);
  // So did older versions leave it.
  fixture.write(`${left}/dock.md.12345678901234.part/dock.md`, "# Dock\n\nmoor at the dock\n");
  expect(await second?.knowledge.list("shared")).toEqual([]);
  expect(await second?.search({ query: "moor", scopes: ["shared"], limit: 5 })).toEqual([]);
  expect(second?.desk.files("shared")).toEqual([]);
  const saved: string[] = [];
  for await (const { path } of findFiles(fixture.workspace, excludedFromWorkspace, [])) saved.push(path);
  expect(saved.filter((path) => path.startsWith(left))).toEqual([left]);
  // The killed process's lock expires.
  locks.expire();
  await second?.removeLeftovers();
  expect(fixture.list(left)).toEqual([]);
  stall.end();
  expect(await stalled).toBe(true);
});

test("temporary files that a kill left are removed at the next start, with and without locks", async () => {
  const left = "brain/hippocampus/knowledge/shared/plan.md.12345678901234.part";
  const unlocked = fixture.reopen({ indexFile: join(fixture.workspace, "..", "unlocked.db") });
  for (const memory of [memories[0], unlocked]) {
    fixture.write(left, "moor at the pier");
    await memory?.removeLeftovers();
    expect(fixture.list("brain/hippocampus/knowledge/shared")).toEqual([]);
  }
});

test("links are not followed, so the files behind them stay and circular links do no harm", async () => {
  const outside = join(fixture.workspace, "..", "outside");
  const name = "film.20261123120000.part";
  mkdirSync(outside, { recursive: true });
  writeFileSync(join(outside, name), "mine");
  const left = "brain/hippocampus/knowledge/shared/plan.md.12345678901234.part";
  fixture.write(left, "moor at the pier");
  for (const [target, at] of [
    [outside, "brain/docs"],
    ["..", "brain/hippocampus/up"],
    ["..", "brain/hippocampus/upwards"],
    [join(outside, name), "brain/film.12345678901234.part"],
  ] as const)
    symlinkSync(target, join(fixture.workspace, at));
  await memories[0]?.removeLeftovers();
  expect(readFileSync(join(outside, name), "utf8")).toBe("mine");
  expect(fixture.list("brain/hippocampus/knowledge/shared")).toEqual([]);
});

test("a folder that can't be read is reported, and the others are still cleaned", async () => {
  const name = "plan.md.12345678901234.part";
  const knowledge = "brain/hippocampus/knowledge";
  const scopes = ["a", "shared", "z"];
  for (const scope of scopes) fixture.write(`${knowledge}/${scope}/${name}`, "moor at the pier");
  fixture.write(`brain/docs/${name}`, "not written by memory");
  const { readdir } = fs.promises;
  const refusing = async (path: string, ...rest: []) => {
    if (path.endsWith("/shared")) throw Object.assign(new Error(`EACCES: ${path}`), { code: "EACCES" });
    return await readdir(path, ...rest);
  };
  Object.assign(fs.promises, { readdir: refusing });
  syncBuiltinESMExports();
  try {
    await expect(memories[0]?.removeLeftovers()).rejects.toThrow(
      `EACCES: ${join(fixture.workspace, knowledge, "shared")}`,
    );
  } finally {
    Object.assign(fs.promises, { readdir });
    syncBuiltinESMExports();
  }
  expect(scopes.map((scope) => fixture.list(`${knowledge}/${scope}`))).toEqual([[], [name], []]);
  expect(fixture.list("brain/docs")).toEqual([name]);
});

test("what a killed process left of a write is removed by the next one", async () => {
  const [first] = memories;
  await first?.saveEpisode(episode({ turnId: "t0" }));
  fixture.write(`${day}.12345678901234`, "half of a te");
  await first?.saveEpisode(episode({ turnId: "t1" }));
  expect(turnIds()).toEqual(["t0", "t1"]);
  expect(temporary()).toEqual([]);
});

test("a person's own copies beside a file stay", async () => {
  const [first] = memories;
  await first?.saveEpisode(episode({ turnId: "t0" }));
  const copies = [`${day}.20261121`, `${day}.bak`, `${day}.20261121203000`];
  for (const copy of copies) fixture.write(copy, "a copy");
  await first?.saveEpisode(episode({ turnId: "t1" }));
  expect(copies.map((copy) => fixture.read(copy))).toEqual(copies.map(() => "a copy"));
});
