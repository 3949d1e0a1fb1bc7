/** What Allow on a card of changes covers, and what it never does. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { findAutorunFiles } from "../../../src/sandbox/draft/autorun-files.ts";
import { grantRules, uncoveredReason } from "../../../src/sandbox/draft/grant-scope.ts";
import { lossProblem, lostFiles, lostUnderGrant } from "../../../src/sandbox/draft/lost-files.ts";
import type { Effect, Effects } from "../../../src/sandbox/effects/effect.ts";
import { ann, type Bench, createBench, given } from "./draft-bench.ts";

const folder = "/srv/website";

function effectsOf(effects: Effect[]): Effects {
  const totals = { deleted: 0, changed: 0, added: 0, bytes: 0, linesAdded: 0, linesRemoved: 0 };
  return { type: "effects", effects, totals, isLarge: false, hash: "h" };
}

const reasonFor = (effects: Effect[]) => uncoveredReason(effectsOf(effects), findAutorunFiles({ effects }, "/nowhere"));

const names = fc.constantFrom(
  "a.txt",
  "index.ts",
  "main.py",
  "style.css",
  "notes",
  "data.json",
  "page.html",
  "Übung.md",
);
const inFolders = fc
  .tuple(fc.array(fc.constantFrom("src", "docs", "a b", "lib"), { maxLength: 3 }), names)
  .map(([above, name]) => [...above, name].join("/"));

/** A change to text, as an edit makes it. */
const edit = fc.record({ path: inFolders, action: fc.constantFrom("added", "changed", "deleted") }).map(
  ({ path, action }): Effect => ({
    ...{ path, raw: path, action, type: "file", files: 1, notes: [], isBinary: false },
    ...{ bytes: action === "deleted" ? 0 : 20, previousBytes: action === "added" ? 0 : 20 },
    ...(action === "deleted" ? { linesRemoved: 2 } : { linesAdded: 2, linesRemoved: 1 }),
  }),
);

/** What no person would expect from having allowed edits. */
const surprise: fc.Arbitrary<(effect: Effect) => Effect> = fc.oneof(
  fc
    .constantFrom(
      ".git/config",
      ".git/objects/ab",
      ".GIT/x",
      "package.json",
      "Makefile",
      ".env",
      "x.config.js",
      "AGENTS.md",
      ".new-agent/x.json",
    )
    .map((name) => (effect: Effect) => ({ ...effect, path: `${effect.path}/${name}`, raw: `${effect.raw}/${name}` })),
  fc
    .constantFrom<Partial<Effect>>(
      { type: "link", linkTarget: "../x" },
      { previousType: "link" },
      { previousType: "folder" },
      { type: "folder", previousType: "file" },
      { type: "special" },
      { isBinary: true },
      { notes: ["executable"] },
      { notes: ["no longer executable"] },
      { notes: ["mode 644 → 666"] },
      { notes: ["its setuid bit is not kept"] },
    )
    .map((change) => (effect: Effect) => ({ ...effect, ...change })),
  fc
    .constantFrom("x.png", "lib.so.1", "x.jar", "x.PDF", "x.zip", "x.pyc", "x.docx", "x.exe", "x:y.exe", "x.exe:y")
    .map((name) => (effect: Effect) => ({ ...effect, path: `${effect.path}/${name}`, raw: `${effect.raw}/${name}` })),
  fc.constant((effect: Effect) => {
    const { linesAdded: _unknown, ...large } = effect;
    return { ...large, action: "changed" as const };
  }),
);

test("edits of text are covered, and one surprise among them is not, whatever else there is", () => {
  const edits = fc.uniqueArray(edit, { selector: ({ raw }) => raw, minLength: 1, maxLength: 25 });
  fc.assert(
    fc.property(edits, fc.nat(), surprise, (effects, at, change) => {
      expect(reasonFor(effects)).toBeUndefined();
      const index = at % effects.length;
      const changed = effects.map((effect, number) => (number === index ? change(effect) : effect));
      expect(reasonFor(changed)).toMatch(/^Such changes always ask: /);
    }),
    { numRuns: 500 },
  );
});

test("more files than a post can name are not covered", () => {
  const effects = Array.from({ length: 26 }, (_, number): Effect => {
    const path = `src/${number}.ts`;
    const text = { bytes: 1, previousBytes: 0, files: 1, notes: [], isBinary: false, linesAdded: 1 };
    return { path, raw: path, action: "added", type: "file", ...text };
  });
  expect(reasonFor(effects.slice(1))).toBeUndefined();
  expect(reasonFor(effects)).toBe("Changes to more than 25 files always ask.");
});

test("a rule is offered for each kind of change on the card that could be covered", () => {
  const draft = {
    ...{
      id: "d1",
      platform: "test",
      conversationId: given,
      scope: "channel:c1" as const,
      folder,
      kind: "given" as const,
    },
    ...{ turnIds: ["t1"], createdAt: 1, changedAt: 1 },
  };
  const text = { files: 1, notes: [], isBinary: false, linesAdded: 1, bytes: 1, previousBytes: 1 };
  const at = (path: string, action: Effect["action"]): Effect => ({ path, raw: path, action, type: "file", ...text });
  const reasons = (...effects: Effect[]) =>
    grantRules(draft, effectsOf(effects), findAutorunFiles({ effects }, "/nowhere")).map(({ reason }) => reason);
  const change = "change plain code and text files in website";
  const remove = "delete up to 20 plain code and text files in website";
  expect(reasons(at("a.ts", "changed"), at("package.json", "changed"))).toEqual([change]);
  expect(reasons(at("a.ts", "deleted"), at(".git/x", "deleted"))).toEqual([remove]);
  expect(reasons(at("a.ts", "added"), at("b.ts", "deleted"))).toEqual([change, remove]);
  expect(reasons(at(".envrc", "changed"), at("Makefile", "deleted"))).toEqual([]);
});

test("what leaves next to nothing of a file counts as a deletion", () => {
  const text = { files: 1, notes: [], isBinary: false, bytes: 50, previousBytes: 100 };
  const file: Effect = { path: "a", raw: "a", action: "changed", type: "file", ...text };
  const lost = (change: Partial<Effect>) => lostFiles(effectsOf([{ ...file, ...change }]));
  for (const change of [
    { bytes: 0 },
    { bytes: 1 },
    { bytes: 10 },
    { type: "link", previousType: "file" },
    { action: "deleted" },
  ] as const)
    expect(lost(change)).toEqual(["a"]);
  for (const change of [{}, { bytes: 11 }, { previousBytes: 0 }, { action: "added", bytes: 0 }] as const)
    expect(lost(change)).toEqual([]);
});

test("under a grant, leaving at most half of the bytes or less of the visible text counts as a deletion, and a rewrite does not", () => {
  const text = { files: 1, notes: [], isBinary: false, bytes: 100, previousBytes: 100, linesAdded: 9, linesRemoved: 9 };
  const file: Effect = { path: "a", raw: "a", action: "changed", type: "file", ...text };
  const lost = (change: Partial<Effect>) => lostUnderGrant(effectsOf([{ ...file, ...change }]));
  for (const change of [{ bytes: 50 }, { losesText: true }, { bytes: 900, losesText: true }] as const)
    expect(lost(change)).toEqual(["a"]);
  for (const change of [{}, { bytes: 51 }, { bytes: 900 }] as const) expect(lost(change)).toEqual([]);
});

test("under a grant, overwriting files with as many line ends asks, and rewriting their text does not", async () => {
  const bench: Bench = await createBench();
  const end = async (command: string) => {
    const turn = await bench.startTurn(given);
    await bench.run(turn, command);
    await bench.end(turn);
    return bench.shown.at(-1)?.items[0];
  };
  try {
    await end("for i in 1 2 3 4 5 6; do seq 200 > $i.txt; done");
    await bench.click("approve");
    await end("echo x >> 1.txt");
    await bench.click("allow", ann);
    expect(await end("for f in *.txt; do seq 300 499 > $f; done")).toMatchObject({ state: "approved" });
    expect(await end("for f in *.txt; do head -c 800 /dev/zero | tr '\\0' '\\n' > $f; done")).toMatchObject({
      state: "open",
      changes: { summary: expect.stringMatching(/deletes or empties more than half of the folder/) },
    });
  } finally {
    await bench.close();
  }
}, 30_000);

test("under a grant, emptying files in steps counts as emptying them at once", async () => {
  const bench: Bench = await createBench();
  const end = async (command: string) => {
    const turn = await bench.startTurn(given);
    await bench.run(turn, command);
    await bench.end(turn);
    return bench.shown.at(-1)?.items[0];
  };
  const shorten = (keep: string) =>
    `for f in *.txt; do n=$(stat -c%s $f); head -c $((${keep})) $f > /tmp/t; cat /tmp/t > $f; done`;
  try {
    await end("for i in 1 2 3 4 5 6; do seq 200 > $i.txt; done");
    await bench.click("approve");
    await end("echo x >> 1.txt");
    await bench.click("allow", ann);
    expect(await end(shorten("n*2/3"))).toMatchObject({ state: "approved" });
    expect(await end(shorten("n*2/3"))).toMatchObject({
      state: "open",
      changes: { summary: expect.stringMatching(/deletes or empties more than half of the folder/) },
    });
  } finally {
    await bench.close();
  }
}, 30_000);

test("however deletions are spread over turns, no more than 20 files and half of each folder go without asking", async () => {
  const counts = fc.record({ "": fc.nat(12), a: fc.nat(12), "a/b": fc.nat(8), ".git": fc.constant(30) });
  const turns = fc.array(fc.array(fc.nat(40), { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 6 });
  const root = await mkdtemp(join(tmpdir(), "remora-loss-"));
  let run = 0;
  await fc.assert(
    fc.asyncProperty(counts, turns, async (sizes, chosen) => {
      const base = join(root, `${run++}`);
      const files = Object.entries(sizes).flatMap(([inside, size]) =>
        Array.from({ length: inside === ".git" ? 3 : size }, (_, number) => join(inside, `${number}.txt`)),
      );
      for (const file of files) {
        await mkdir(dirname(join(base, file)), { recursive: true });
        await writeFile(join(base, file), "");
      }
      const own = files.filter((file) => !file.startsWith(".git"));
      const before = new Set<string>();
      for (const turn of chosen) {
        const lost = [...new Set(turn)].flatMap((index) => own[index] ?? []).filter((file) => !before.has(file));
        const problem = await lossProblem(base, lost, { isEachFolder: true, before: [...before] });
        if (problem !== undefined) continue;
        for (const file of lost) {
          before.add(file);
          await rm(join(base, file));
        }
      }
      expect(before.size).toBeLessThanOrEqual(20);
      for (const inside of ["", "a/", "a/b/"]) {
        const [gone, all] = [[...before], own].map((paths) => paths.filter((path) => path.startsWith(inside)).length);
        expect((gone ?? 0) <= 1 || (gone ?? 0) * 2 <= (all ?? 0)).toBe(true);
      }
    }),
    { numRuns: 40 },
  );
  await rm(root, { recursive: true });
}, 30_000);

test("under a grant, edits of text are kept and listed, and each surprise asks and changes nothing", async () => {
  const bench: Bench = await createBench();
  const end = async (command: string) => {
    const turn = await bench.startTurn(given);
    await bench.run(turn, command);
    await bench.end(turn);
    return bench.shown.at(-1)?.items[0];
  };
  try {
    await end(
      "mkdir -p src/lib docs; seq 9 > a.txt; for i in 1 2 3 4; do seq 99 > src/$i.ts; seq 9 > docs/$i.md; done; touch bin.dat; ln -s a.txt link",
    );
    await bench.click("approve");
    await end("echo x >> a.txt; rm docs/1.md");
    await bench.click("allow", ann);
    expect(await end("echo y >> a.txt; rm src/1.ts; mkdir new; echo z > new/z.ts")).toMatchObject({
      ...{ state: "approved", isGranted: true },
      changes: { files: [{ path: "src/1.ts" }, { path: "a.txt" }, { path: "new/z.ts" }], moreFiles: 0 },
    });
    expect((await bench.cardNow()).items[0]?.outcome).toMatch(/had allowed .* in advance\. Kept 4 files/);
    for (const [command, why] of [
      ["rm src/2.ts", /^$/],
      ["rm src/3.ts src/4.ts", /deletes or empties more than half of the folder src/],
      ["for f in docs/*.md; do echo > $f; done", /more than half of the folder docs/],
      ["chmod +x a.txt", /a\.txt gets other permissions/],
      ["ln -sf /etc/passwd link", /link is a link/],
      ["ln -s a.txt other", /other is a link/],
      ["rm a.txt; ln -s src a.txt", /a\.txt is a link/],
      ["rm -r new; echo x > new", /new becomes another kind of file/],
      ["head -c 100 /dev/urandom > x.dat", /x\.dat is not text/],
      ["mkdir docs/objects docs/refs; echo ref: x > docs/HEAD; echo x > docs/config", /docs\/\w+ can run by itself/],
      ["echo x > package.json", /package\.json can run by itself/],
      ["for i in $(seq 30); do echo $i > $i.txt; done", /more than 25 files/],
    ] as const) {
      const item = await end(command);
      if (String(why) === "/^$/") {
        expect(item).toMatchObject({ state: "approved" });
        continue;
      }
      expect([item?.state, item?.changes?.summary]).toEqual(["open", expect.stringMatching(why)]);
      await bench.click("deny");
    }
    const turn = await bench.startTurn(given);
    await bench.call(turn, async ({ commands }) => {
      await commands?.startJob("rm -rf ./*");
      return { isOk: true, text: "", files: [], isRetryable: false };
    });
    await vi.waitFor(async () => {
      await bench.drafts.settle(turn, "done");
      expect(bench.shown.at(-1)?.items[0]).toMatchObject({
        state: "open",
        changes: { title: expect.stringContaining("deleted") },
      });
    }, 10_000);
  } finally {
    await bench.close();
  }
}, 60_000);
