/** Keep and undo are all or nothing, through crashes, full disks and concurrent changes. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, test } from "vitest";
import { codeOf } from "../../../src/lib/errors.ts";
import { findChangedBase, stampBase } from "../../../src/sandbox/effects/base-stamps.ts";
import type { Effects } from "../../../src/sandbox/effects/effect.ts";
import { type KeepOptions, keepEffects } from "../../../src/sandbox/effects/keep-effects.ts";
import { listEffects } from "../../../src/sandbox/effects/list-effects.ts";
import { recoverKeeps } from "../../../src/sandbox/effects/recover-keeps.ts";
import { createUndoJournal } from "../../../src/sandbox/effects/undo-journal.ts";
import { isWhole, share, shareNote } from "../../faults/share.ts";
import { createDraft, type Draft, never, readTree } from "./overlay-view.ts";

const run = promisify(execFile);
const child = join(import.meta.dirname, "draft-child.ts");
const node = process.execPath;
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function draftOf(setup: string, command: string, base?: string): Promise<Draft> {
  const draft = await createDraft(setup, base === undefined ? {} : { base });
  cleanups.push(draft.remove);
  await draft.run(command);
  return draft;
}

async function effectsOf(draft: Draft): Promise<Effects> {
  const effects = await listEffects(draft, never);
  if (effects.type !== "effects") throw new Error("too large");
  return effects;
}

async function keep(draft: Draft, options: Partial<KeepOptions> = {}) {
  const { hash } = await effectsOf(draft);
  return keepEffects({ ...draft, undoFolder: draft.journal, id: "k1", expectedHash: hash, ...options }, never);
}

const setup = `mkdir -p d/e f/g old; echo 1 > d/a; echo 2 > d/e/b; echo 3 > f/g/c; ln -s d/a link
  echo x > old/x; echo twin > twin1; ln twin1 twin2; echo file > becomes-folder; chmod 700 f; touch keep`;
const command = `rm -rf old; rm becomes-folder; mkdir becomes-folder; echo in > becomes-folder/in; echo 11 > d/a
  rm -rf d/e; echo now-file > d/e; chmod 750 f; ln -sfn elsewhere link; echo changed > twin1; rm twin2
  mkdir -p new/deep/empty; echo n > new/deep/n; chmod 755 keep`;

class Crash extends Error {}

function crashAt(step: number) {
  let steps = 0;
  return () => {
    if (++steps === step) throw new Crash();
  };
}

const places = [
  ["on the journal's file system", undefined],
  ["on another file system", "/dev/shm"],
] as const;

/** A plain run takes one of five neighbouring steps. */
const stride = isWhole ? 1 : 5;
const firstStep = 1 + (share % stride);

describe.each(places)(`base %s${shareNote}`, (_, parent) => {
  function basePath(): string | undefined {
    if (parent === undefined) return undefined;
    const folder = mkdtempSync(join(parent, "remora-base-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    return join(folder, "base");
  }

  test("a crash at any step of keeping ends at all or nothing, and the keep can be repeated", async () => {
    const draft = await draftOf(setup, command, basePath());
    const before = readTree(draft.base);
    const journal = createUndoJournal(draft.journal);
    const { hash } = await effectsOf(draft);
    const options = { ...draft, undoFolder: draft.journal, id: "k1", expectedHash: hash };
    let after: unknown;
    const outcomes = new Set<string>();
    for (let step = firstStep, isEnd = false; !isEnd; step += stride) {
      const crashed = await keepEffects({ ...options, onStep: crashAt(step) }, never).catch((thrown) => thrown);
      isEnd = !(crashed instanceof Crash);
      await recoverKeeps(draft.journal);
      const now = readTree(draft.base);
      const isNothing = JSON.stringify(now) === JSON.stringify(before);
      outcomes.add(isNothing ? "nothing" : "all");
      expect(await journal.list()).toHaveLength(isNothing ? 0 : 1);
      expect(await keepEffects(options, never)).toMatchObject({ type: "kept" });
      after ??= readTree(draft.base);
      expect(readTree(draft.base)).toEqual(after);
      if (!isNothing) expect(now).toEqual(after);
      expect(await journal.undo("k1", never)).toMatchObject({ type: "undone" });
      expect(readTree(draft.base)).toEqual(before);
      expect(readdirSync(draft.journal)).toEqual([]);
    }
    expect([...outcomes].sort()).toEqual(["all", "nothing"]);
  });

  test("a crash at any step of an undo ends at all or nothing", async () => {
    const draft = await draftOf(setup, command, basePath());
    const before = readTree(draft.base);
    const { hash } = await effectsOf(draft);
    const options = { ...draft, undoFolder: draft.journal, id: "k1", expectedHash: hash };
    for (let step = firstStep, isEnd = false; !isEnd; step += stride) {
      expect(await keepEffects(options, never)).toMatchObject({ type: "kept" });
      const after = readTree(draft.base);
      const crashing = createUndoJournal(draft.journal, { onStep: crashAt(step) });
      isEnd = !((await crashing.undo("k1", never).catch((thrown) => thrown)) instanceof Crash);
      await recoverKeeps(draft.journal);
      const isBack = JSON.stringify(readTree(draft.base)) === JSON.stringify(before);
      if (!isBack) {
        expect(readTree(draft.base)).toEqual(after);
        expect(await createUndoJournal(draft.journal).undo("k1", never)).toMatchObject({ type: "undone" });
        expect(readTree(draft.base)).toEqual(before);
      }
      expect(readdirSync(draft.journal)).toEqual([]);
    }
  });

  test("a file that somebody changes at any step is theirs, and nothing else is changed", async () => {
    const draft = await draftOf(setup, command, basePath());
    const before = readTree(draft.base);
    const { hash } = await effectsOf(draft);
    const types = new Set<string>();
    for (let step = firstStep, isEnd = false; !isEnd; step += stride) {
      isEnd = true;
      let steps = 0;
      const onStep = () => {
        if (++steps !== step) return;
        isEnd = false;
        writeFileSync(join(draft.base, "d/a"), "somebody else\n");
      };
      const options = { ...draft, undoFolder: draft.journal, id: "k1", expectedHash: hash, onStep };
      const result = await keepEffects(options, never);
      types.add(result.type);
      if (result.type === "kept") break;
      expect(result).toEqual({ type: "changed", paths: ["d/a"] });
      expect(readTree(draft.base)).toEqual({ ...before, "d/a": "file 644 somebody else\n" });
      expect(readdirSync(draft.journal)).toEqual([]);
      writeFileSync(join(draft.base, "d/a"), "1\n");
    }
    expect([...types].sort()).toEqual(["changed", "kept"]);
  });
});

test("a process that is killed at any time leaves all or nothing", async () => {
  const draft = await draftOf(setup, command);
  const before = JSON.stringify(readTree(draft.base));
  const { hash } = await effectsOf(draft);
  const args = [child, "keep", draft.base, draft.layer, draft.journal, hash];
  let isDone = false;
  let delayMs = 0;
  for (let tries = 0; tries < 12 && !isDone; tries++) {
    const process = spawn(node, [...args, `k${tries}`], { stdio: "ignore" });
    const kept = join(draft.journal, `k${tries}`);
    const exit = once(process, "exit");
    // The entry exists for a few milliseconds; the kill hits one of them.
    while (!existsSync(kept) && process.exitCode === null) await pause(1);
    for (const end = performance.now() + delayMs; performance.now() < end; ) await Promise.resolve();
    process.kill("SIGKILL");
    await exit;
    await recoverKeeps(draft.journal);
    const isNothing = JSON.stringify(readTree(draft.base)) === before;
    expect(await createUndoJournal(draft.journal).list()).toHaveLength(isNothing ? 0 : 1);
    if (!isNothing) {
      const shown = await effectsOf(draft);
      expect(shown.effects).toEqual([]);
      isDone = true;
    }
    delayMs += isWhole ? 4 : 16;
  }
});

/** Swaps base/d for a link to `canary` and back, in a loop that can be paused. */
async function startSwapping(base: string, canary: string) {
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(
    `const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
     const { workerData: { base, canary, flags } } = require("node:worker_threads");
     while (Atomics.load(flags, 0) !== 2) {
       Atomics.store(flags, 1, Atomics.load(flags, 0));
       if (Atomics.load(flags, 0) === 1) { Atomics.wait(flags, 0, 1); continue; }
       renameSync(base + "/d", base + "/aside");
       symlinkSync(canary, base + "/d");
       if (Math.random() < 0.1) Atomics.wait(flags, 0, 0, 1);
       unlinkSync(base + "/d");
       renameSync(base + "/aside", base + "/d");
       if (Math.random() < 0.3) Atomics.wait(flags, 0, 0, 3);
     }`,
    { eval: true, workerData: { base, canary, flags } },
  );
  await once(worker, "online");
  const set = (state: number) => {
    Atomics.store(flags, 0, state);
    Atomics.notify(flags, 0);
  };
  return {
    async pause() {
      set(1);
      while (Atomics.load(flags, 1) !== 1) await new Promise((resolve) => setImmediate(resolve));
    },
    resume: () => set(0),
    async stop() {
      const exit = once(worker, "exit");
      set(2);
      await exit;
    },
  };
}

test("a link that is swapped for a folder while keeping leads nowhere", async () => {
  const folder = mkdtempSync("/dev/shm/remora-swap-");
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const [base, journal, canary] = ["base", "journal", "canary"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const fill = () => {
    for (const name of ["d", "aside"]) rmSync(join(base, name), { recursive: true, force: true });
    mkdirSync(join(base, "d/sub"), { recursive: true });
    writeFileSync(join(base, "d/a"), "1\n");
    writeFileSync(join(base, "d/sub/b"), "2\n");
  };
  const draft = await draftOf(
    "mkdir -p d/sub; echo 1 > d/a; echo 2 > d/sub/b",
    "echo 11 > d/a; rm d/sub/b; echo c > d/sub/c",
    base,
  );
  mkdirSync(join(canary, "sub"), { recursive: true });
  for (const file of ["a", "sub/b"]) writeFileSync(join(canary, file), "canary\n");
  const before = JSON.stringify(readTree(base));
  const { hash } = await effectsOf(draft);
  const swapper = await startSwapping(base, canary);
  const types: Record<string, number> = {};
  for (let tries = 0; tries < (isWhole ? 300 : 100); tries++) {
    swapper.resume();
    const options = { base, layer: draft.layer, undoFolder: journal, id: `k${tries}`, expectedHash: hash };
    const result = await keepEffects(options, never).catch((thrown) => ({ type: codeOf(thrown) ?? "bug" }));
    types[result.type] = (types[result.type] ?? 0) + 1;
    await swapper.pause();
    if (JSON.stringify(readTree(base)) !== before) fill();
  }
  swapper.resume();
  await swapper.stop();
  expect(readTree(canary)).toEqual({ a: "file 644 canary\n", sub: "folder 755", "sub/b": "file 644 canary\n" });
  expect(types).not.toHaveProperty("bug");
  expect(types.kept).toBeGreaterThan(0);
  expect(types.changed).toBeGreaterThan(0);
}, 300_000);

test("what changed since it was shown is not kept, and is named", async () => {
  const draft = await draftOf("echo 1 > a; echo 2 > b", "echo 11 > a; rm b");
  const { hash, effects } = await effectsOf(draft);
  const paths = effects.map(({ raw }) => raw);
  const stamps = JSON.parse(JSON.stringify(await stampBase(draft.base, paths, never)));
  expect(await findChangedBase(draft.base, stamps, never)).toEqual([]);
  appendFileSync(join(draft.base, "b"), "more\n");
  expect(await findChangedBase(draft.base, stamps, never)).toEqual(["b"]);
  expect(await keep(draft, { expectedHash: hash, stamps })).toEqual({ type: "changed", paths: ["b"] });
  expect(readFileSync(join(draft.base, "a"), "utf8")).toBe("1\n");
});

test("a layer that changed since it was shown is not kept", async () => {
  const draft = await draftOf("echo 1 > a", "echo 11 > a");
  const { hash } = await effectsOf(draft);
  await draft.run("echo 12 > a");
  expect(await keep(draft, { expectedHash: hash })).toEqual({ type: "changed", paths: [] });
});

test("a file that somebody adds to a deleted folder stays, and so does the folder", async () => {
  const draft = await draftOf("mkdir d; echo 1 > d/a; echo 2 > other", "rm -rf d; rm other");
  const onStep = (step: string) => {
    if (step === "applying") writeFileSync(join(draft.base, "d/theirs"), "theirs");
  };
  expect(await keep(draft, { onStep })).toEqual({ type: "changed", paths: ["d"] });
  expect(Object.keys(readTree(draft.base)).sort()).toEqual(["d", "d/a", "d/theirs", "other"]);
});

test("an undo names the files that were changed since, and changes nothing", async () => {
  const draft = await draftOf("echo 1 > a; echo 2 > b", "echo 11 > a; echo 22 > b");
  await keep(draft);
  writeFileSync(join(draft.base, "b"), "newer\n");
  const journal = createUndoJournal(draft.journal);
  expect(await journal.undo("k1", never)).toEqual({ type: "changed-since", paths: ["b"] });
  expect(readFileSync(join(draft.base, "a"), "utf8")).toBe("11\n");
  writeFileSync(join(draft.base, "b"), "22\n");
  expect(await journal.undo("k1", never)).toMatchObject({ type: "undone" });
  expect(await journal.undo("k1", never)).toEqual({ type: "unknown" });
});

test("a part is kept, with the folders that it needs, and the rest is still a draft", async () => {
  const draft = await draftOf(
    "mkdir d; echo 1 > d/a; echo 2 > d/b",
    "mkdir -p n/m; echo x > n/m/x; echo y > n/y; rm -rf d",
  );
  const result = await keep(draft, { paths: ["n/m/x", "d/a"] });
  expect(result).toMatchObject({ type: "kept", left: ["d", "d/b", "n/y"] });
  expect(Object.keys(readTree(draft.base)).sort()).toEqual(["d", "d/b", "n", "n/m", "n/m/x"]);
  expect((await effectsOf(draft)).effects.map(({ raw }) => raw)).toEqual(["d", "d/b", "n/y"]);
});

test("set-user-id bits never reach base, and the list says so", async () => {
  const draft = await draftOf("echo 1 > a; chmod 755 a", "chmod 4755 a; echo new > b; chmod 6711 b");
  const { effects } = await effectsOf(draft);
  expect(effects.map(({ raw, notes }) => [raw, notes])).toEqual([
    ["a", ["its setuid bit is not kept"]],
    ["b", ["executable", "its setuid bit is not kept", "its setgid bit is not kept"]],
  ]);
  expect(await keep(draft)).toMatchObject({ type: "kept" });
  expect(readTree(draft.base)).toEqual({ a: "file 755 1\n", b: "file 711 new\n" });
});

test("the journal is pruned by age, then by size, and spares the newest", async () => {
  const draft = await draftOf("head -c 1000 /dev/zero > a", ":");
  for (const id of ["k1", "k2", "k3"]) {
    await draft.run(`head -c 1000 /dev/zero > a; echo ${id} >> a`);
    await keep(draft, { id });
    await expect.poll(() => Date.now()).toBeGreaterThan((await createUndoJournal(draft.journal).list())[0]?.at ?? 0);
  }
  const journal = createUndoJournal(draft.journal, { maxBytes: 500, maxAgeMs: 60_000 });
  expect((await journal.list(draft.base)).map(({ id }) => id)).toEqual(["k3", "k2", "k1"]);
  expect((await journal.prune(Date.now())).map(({ id }) => id)).toEqual(["k2", "k1"]);
  expect((await journal.list()).map(({ id }) => id)).toEqual(["k3"]);
  await journal.prune(Date.now() + 61_000);
  expect(await journal.list()).toEqual([]);
});

async function onSmallDisk(options: string, setupScript: string, script: string) {
  const folder = mkdtempSync(join(tmpdir(), "remora-small-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const inside = `mount -t tmpfs -o ${options} tmpfs "${folder}" && exec "$0" "$@"`;
  const flags = ["--user", "--map-root-user", "--mount", "sh", "-c", inside, node];
  const { stdout } = await run("unshare", [...flags, child, "full", folder, setupScript, script]);
  return JSON.parse(stdout);
}

test("a full disk changes nothing, and the result says so", async () => {
  const small = await onSmallDisk("size=1m", "echo 1 > a", "echo 11 > a; head -c 2000000 /dev/zero > big");
  const reason = "the disk is full";
  expect(small).toMatchObject({ result: { type: "failed", path: "big", reason, notRestored: [] } });
  expect(small).toMatchObject({ isUnchanged: true, entries: [] });
});

test("a disk that is full in the middle gets back what it had", async () => {
  const script = `rm -rf old; echo 11 > a; for i in $(seq 60); do mkdir -p new/$i; done`;
  const small = await onSmallDisk("size=1m,nr_inodes=40", "mkdir old; echo 1 > a; echo 2 > old/b", script);
  expect(small).toMatchObject({ result: { type: "failed", reason: "the disk is full", notRestored: [] } });
  expect(small.result.path).toMatch(/^new\/\d+$/);
  expect(small).toMatchObject({ isUnchanged: true, entries: [] });
});

test.skipIf(process.geteuid?.() !== 0)("an ordinary user keeps and undoes what denies access", async () => {
  const user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
  const { stdout } = await run("setpriv", [...user, node, child, "user"], { env: { PATH: process.env.PATH } });
  const found = JSON.parse(stdout);
  expect(found.modes).toMatchObject({ secret: 0, closed: 0o555, "open/inner": 0o300 });
  expect(found.result).toMatchObject({ type: "kept" });
  expect(found.paths).toContain("secret/t");
  expect(found.keptModes).toEqual({ secret: 0, unreadable: 0, closed: 0o555, inner: 0o300 });
  expect(found).toMatchObject({ undo: { type: "undone" }, isBack: true });
});
