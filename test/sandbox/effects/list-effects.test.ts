/** The list, hash and diff of a draft, for every type of entry that a command can leave. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { escapeFile } from "../../../src/approvals/card-text.ts";
import { createDiff, type DraftDiff } from "../../../src/sandbox/effects/create-diff.ts";
import type { Effects } from "../../../src/sandbox/effects/effect.ts";
import { defaultEffectLimits, listEffects } from "../../../src/sandbox/effects/list-effects.ts";
import { planMerge } from "../../../src/sandbox/effects/merge-plan.ts";
import { decodePath, encodeBytes } from "../../../src/sandbox/effects/raw-path.ts";
import { discardLayer, sweepDiscarded } from "../../../src/sandbox/effects/remove-tree.ts";
import { createDraft, type Draft, never, openView } from "./overlay-view.ts";

const drafts: Draft[] = [];
afterEach(async () => {
  for (const draft of drafts.splice(0)) await draft.remove();
});

async function draftOf(setup: string, ...commands: string[]): Promise<Draft> {
  const draft = await createDraft(setup);
  drafts.push(draft);
  for (const command of commands) await draft.run(command);
  return draft;
}

async function effectsOf(draft: Draft): Promise<Effects> {
  const effects = await listEffects(draft, never);
  if (effects.type !== "effects") throw new Error("too large");
  return effects;
}

async function diffOf(draft: Draft): Promise<DraftDiff> {
  const diff = await createDiff(draft, never);
  if (diff.type !== "diff") throw new Error("too large");
  return diff;
}

async function listed(draft: Draft) {
  const { effects } = await effectsOf(draft);
  return effects.map(({ action, type, raw }) => `${action} ${type} ${raw}`);
}

test("what is deleted or overwritten counts as much as what is written", async () => {
  const draft = await draftOf("seq 1 1000 > gone; seq 1 1000 > emptied", "rm gone; : > emptied");
  const isLargeAbove = async (askBytes: number) =>
    await listEffects(draft, never, { ...defaultEffectLimits, askBytes });
  expect(await isLargeAbove(7_000)).toMatchObject({ isLarge: true });
  expect(await isLargeAbove(8_000)).toMatchObject({ isLarge: false });
});

test("deletions come first, then changes, then additions, with counts", async () => {
  const setup = "printf '1\\n2\\n3\\n' > changed; echo x > gone; mkdir d; echo 1 > d/a; printf 'no end' > d/b";
  const draft = await draftOf(
    setup,
    "printf '1\\n2b\\n3\\n4\\n' > changed; rm -r gone d; mkdir n; printf 'a\\nb' > n/f; ln -s f n/l",
  );
  const { effects, totals, isLarge } = await effectsOf(draft);
  expect(
    effects.map(({ action, raw, linesAdded, linesRemoved, files, within }) => [
      action,
      raw,
      linesAdded,
      linesRemoved,
      files,
      within,
    ]),
  ).toEqual([
    ["deleted", "d", undefined, undefined, 2, undefined],
    ["deleted", "d/a", undefined, 1, 1, "d"],
    ["deleted", "d/b", undefined, 1, 1, "d"],
    ["deleted", "gone", undefined, 1, 1, undefined],
    ["changed", "changed", 2, 1, 1, undefined],
    ["added", "n", undefined, undefined, 2, undefined],
    ["added", "n/f", 2, undefined, 1, "n"],
    ["added", "n/l", undefined, undefined, 1, "n"],
  ]);
  expect(totals).toMatchObject({ deleted: 3, changed: 1, added: 2, linesAdded: 4, linesRemoved: 4 });
  expect(isLarge).toBe(false);
});

describe("no effect", () => {
  test.each([
    ["a file that came and went", "touch x; rm x"],
    ["the old content, written back", "echo other > a; echo 1 > a"],
    ["a new time of change", "touch a d d/b"],
    ["a mode that was set and set back", "chmod 600 a; chmod 644 a"],
    ["a folder that was deleted and made again as it was", "rm -rf d; mkdir d; echo 2 > d/b"],
    ["a link that leads where it did", "ln -sfn a l"],
  ])("%s", async (_, command) => {
    const draft = await draftOf("umask 022; echo 1 > a; mkdir d; echo 2 > d/b; ln -s a l", command);
    expect(await listed(draft)).toEqual([]);
    expect(readdirSync(draft.layer)).toEqual([]);
  });

  test("what one command wrote and the next one took back", async () => {
    const draft = await draftOf(
      "echo 1 > a; mkdir d; echo 2 > d/b",
      "rm -rf d; echo 2 > a; echo 3 > n",
      "mkdir d; echo 2 > d/b; echo 1 > a; rm n",
    );
    expect(readdirSync(draft.layer)).toEqual([]);
  });
});

test("an opaque folder names what it hides, and what it holds", async () => {
  const draft = await draftOf(
    "mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b; echo 3 > d/same",
    "rm -rf d; mkdir d; echo 3 > d/same; echo n > d/n",
  );
  expect(await listed(draft)).toEqual([
    "deleted file d/a",
    "deleted folder d/e",
    "deleted file d/e/b",
    "added file d/n",
  ]);
});

test.each([
  ["deleted", "rm -rf d"],
  ["replaced by a file", "rm -rf d; echo file > d"],
])("a folder that an earlier command %s does not show its old contents when it is made again", async (_, command) => {
  const draft = await draftOf(
    "mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b",
    command,
    "rm -rf d; mkdir -p d/e; echo n > d/n",
  );
  expect(await listed(draft)).toEqual(["deleted file d/a", "deleted file d/e/b", "added file d/n"]);
});

test("files become folders, folders become files and links", async () => {
  const setup = "echo 1 > f; mkdir d d2; echo 2 > d/a; echo 3 > d2/b";
  const draft = await draftOf(setup, "rm f; mkdir f; echo in > f/in; rm -r d d2; echo now > d; ln -s /etc d2");
  const { effects } = await effectsOf(draft);
  expect(effects.map(({ action, type, previousType, raw }) => [action, previousType, type, raw])).toEqual([
    ["deleted", undefined, "file", "d/a"],
    ["deleted", undefined, "file", "d2/b"],
    ["changed", "folder", "file", "d"],
    ["changed", "folder", "link", "d2"],
    ["changed", "file", "folder", "f"],
    ["added", undefined, "file", "f/in"],
  ]);
});

test("names that are not UTF-8, or break or turn lines, are kept and shown", async () => {
  const draft = await draftOf(
    "echo 1 > $'\\xff%'",
    "rm $'\\xff%'; echo 1 > $'two\\nlines'; echo 1 > $'\\xe2\\x80\\xaetxt.exe'; echo 1 > 'ä%'; echo 1 > __proto__",
  );
  const { effects } = await effectsOf(draft);
  expect(effects.map(({ raw, path }) => [raw, path])).toEqual([
    ["%FF%25", "\\xff%"],
    ["__proto__", "__proto__"],
    ["two%0Alines", "two\\nlines"],
    ["ä%25", "ä%"],
    ["\u202etxt.exe", "<U+202E>txt.exe"],
  ]);
});

test("every name is encoded without loss, and no path leads out", () => {
  for (const bytes of [[0xff, 0x25, 0x0a], [0x25, 0x46, 0x46], [0xc3, 0xa4], [0xc3], [0xef, 0xbb, 0xbf, 0x61]]) {
    expect(decodePath(encodeBytes(Buffer.from(bytes)))).toEqual([Buffer.from(bytes)]);
  }
  for (const path of ["", "..", "a/../b", "/etc", "a//b", "%2E%2E", "a%2Fb", "a%00", "."])
    expect(() => decodePath(path)).toThrow();
});

test("sockets, pipes and devices are named and not kept; what they replaced is gone", async () => {
  const draft = await draftOf("echo 1 > f; echo 2 > g");
  const listen = "require('net').createServer().listen('s', () => process.kill(process.pid, 'SIGKILL'))";
  const { plan } = await draft.run(`rm f; mkfifo f p; '${process.execPath}' -e "${listen}"`);
  expect(plan.ignored).toEqual([
    { path: "f", type: "pipe" },
    { path: "p", type: "pipe" },
    { path: "s", type: "socket" },
  ]);
  expect(await listed(draft)).toEqual(["deleted file f"]);
});

test("too many paths, and too deep ones, are a value and no list", async () => {
  const draft = await draftOf("", "for i in $(seq 30); do touch $i; done");
  const limits = { ...defaultEffectLimits, maxPaths: 20 };
  expect(await listEffects(draft, never, limits)).toEqual({ type: "too-large", limit: "maxPaths", paths: 21 });
  expect((await listEffects(draft, never, { ...defaultEffectLimits, askFiles: 29 })) as Effects).toMatchObject({
    isLarge: true,
  });
  const scratch = join(draft.root, "deep");
  const view = await openView({ ...draft, scratch, script: "for i in $(seq 300); do mkdir d; cd d; done" });
  const plan = await planMerge({ ...draft, merged: view.merged, upper: view.upper }, never);
  await view.close();
  expect(plan).toMatchObject({ type: "too-large", limit: "maxDepth" });
});

test("too many bytes are a value and no list, holes too", async () => {
  const draft = await draftOf("", "truncate -s 900 a b");
  const limits = { ...defaultEffectLimits, maxBytes: 1_000 };
  expect(await listEffects(draft, never, limits)).toMatchObject({ type: "too-large", limit: "maxBytes" });
  const scratch = join(draft.root, "holes");
  const view = await openView({ ...draft, scratch, script: "for i in $(seq 50); do truncate -s 900M $i; done" });
  const plan = await planMerge({ ...draft, merged: view.merged, upper: view.upper }, never);
  await view.close();
  expect(plan).toMatchObject({ type: "too-large", limit: "maxBytes" });
});

test("the hash sees every byte, mode and name of layer and base, and nothing else", async () => {
  const draft = await draftOf("echo 1 > a; echo 2 > b; mkdir d; echo 3 > d/c", "echo 11 > a; rm -r d");
  const seen = new Set<string>();
  const hash = async () => (await effectsOf(draft)).hash;
  const first = await hash();
  for (const change of ["echo x > a", "chmod 600 a", "echo y > d/c", "touch d/new", "chmod 700 d", "rm a"]) {
    seen.add(await hash());
    execFileSync("sh", ["-c", change], { cwd: draft.base });
  }
  seen.add(await hash());
  expect(seen.size).toBe(7);
  const other = await draftOf("mkdir d; echo 3 > d/c; echo 2 > b; echo 1 > a", "rm -r d; echo 11 > a; touch b");
  expect((await effectsOf(other)).hash).toBe(first);
});

test("the diff is what git prints", async () => {
  const lines = "seq 1 40 | sed 's/^/line /'";
  const setup = `${lines} > long; printf 'a\\nb\\n' > gone; printf 'x' > 'no end'; echo 1 > tool; chmod 644 tool`;
  const command =
    "sed -i -e '3s/.*/three/' -e '8d' -e '30a more' long; rm gone; printf 'y\\n' > 'no end'; chmod 755 tool; printf 'n\\n' > new; : > empty; ln -s new link";
  const draft = await draftOf(setup, command);
  const { text, missing } = await diffOf(draft);
  const repository = join(draft.root, "repository");
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", repository, "-c", "user.name=t", "-c", "user.email=t@t", ...args], { encoding: "utf8" });
  execFileSync("cp", ["-a", draft.base, repository]);
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "base");
  execFileSync("bash", ["-c", command], { cwd: repository });
  git("add", "-A");
  const expected = git("diff", "--cached", "--no-renames")
    .replace(/^index .*\n/gm, "")
    .replace(/^(@@ .* @@).*$/gm, "$1");
  const sections = (diff: string) =>
    diff
      .split(/^(?=diff --git )/m)
      .map((part) => part.replace(/\t$/gm, ""))
      .toSorted();
  expect(sections(text)).toEqual(sections(expected));
  expect(text.startsWith("diff --git a/gone b/gone\ndeleted file mode 100644\n")).toBe(true);
  expect(missing).toBeUndefined();
});

test("a sticky bit is in the list and in the diff, of new folders and files and of changed ones", async () => {
  const draft = await draftOf("umask 022; mkdir d", "umask 022; mkdir e; echo x > f; chmod +t d e f");
  const { effects, text } = await diffOf(draft);
  expect(effects.effects.map(({ raw, notes }) => [raw, notes])).toEqual([
    ["d", ["mode 755 → 1755"]],
    ["e", ["sticky bit"]],
    ["f", ["sticky bit"]],
  ]);
  expect(text).toContain("old mode 040755\nnew mode 041755\n");
  expect(text).toContain("new folder mode 041755\n");
  expect(text).toContain("new file mode 101644\n");
});

test("binary files are described with their bytes, and a card shows hidden characters as in calls", async () => {
  const draft = await draftOf(
    "head -c 12000 /dev/zero > bin",
    "head -c 14000 /dev/zero > bin; printf 'a\\e[2J\\xe2\\x80\\xaeb\\n' > t; printf 'caf\\xe9\\n' > latin; printf 'dos\\r\\n' > dos",
  );
  const { text } = await diffOf(draft);
  const shown = await escapeFile(text);
  expect(shown).toContain("Binary file changed, 11.7 KiB → 13.7 KiB: unknown data\n");
  expect(shown).toContain("-\\u{0 ×12000}\n");
  expect(shown).toContain("+a\\u{1B}[2J\\u{202E}b\n");
  expect(shown).toContain("+dos␍\n");
  expect(shown).toContain("+caf\\x{E9}\n");
});

test("huge and hostile files are whole or said to be missing, in bounded time, while the event loop turns", async () => {
  const draft = await draftOf(
    "seq 1 40000 > different; head -c 50000000 /dev/urandom | base64 > large; head -c 900000 /dev/zero | tr '\\0' a > line",
    "seq 40001 80000 > different; echo end >> large; echo x >> line; head -c 10000000 /dev/zero | tr '\\0' b > one-line; seq 200000 > added",
  );
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const { text, missing, effects } = await diffOf(draft);
  clearInterval(timer);
  expect(missing).toBe("large has 64.4 MiB.");
  expect(text.length).toBeLessThan(10_000_000);
  expect(effects.effects.map(({ raw, linesAdded }) => [raw, linesAdded])).toEqual([
    ["different", 40_000],
    ["large", undefined],
    ["line", 1],
    ["added", 200_000],
    ["one-line", 1],
  ]);
  expect(turns).toBeGreaterThan(20);
});

test("a discarded layer is gone, also what denies access, and also after a crash", async () => {
  const draft = await draftOf("", "mkdir -p a/b; echo 1 > a/b/c; chmod 000 a");
  await discardLayer(draft.layer);
  mkdirSync(join(draft.root, "layer.discarded-123"));
  writeFileSync(join(draft.root, "layer.discarded-123", "f"), "");
  await sweepDiscarded(draft.root);
  await discardLayer(draft.layer);
  expect(readdirSync(draft.root).filter((name) => name.startsWith("layer"))).toEqual([]);
});
