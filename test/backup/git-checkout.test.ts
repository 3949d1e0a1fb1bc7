/** Finding and moving to a newer version, with real git repositories in every state that an upgrade must refuse. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { changesSince } from "../../src/backup/changelog.ts";
import { createGitCheckout } from "../../src/backup/git-checkout.ts";
import { compareVersions } from "../../src/lib/compare-versions.ts";

let home: string;
let origin: string;
let clone: string;
const git = (folder: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...args], {
    ...{ cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
  }).trim();

async function release(version: string, files: Record<string, string> = {}): Promise<string> {
  for (const [name, text] of Object.entries({ ...files, "package.json": JSON.stringify({ version }) }))
    await writeFile(join(origin, name), text);
  git(origin, "add", "-A");
  git(origin, "commit", "-qm", version);
  git(origin, "tag", `v${version}`);
  return git(origin, "rev-parse", "HEAD");
}

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "remora-git-"));
  [origin, clone] = [join(home, "origin"), join(home, "clone")];
  await mkdir(join(origin, "config"), { recursive: true });
  git(home, "init", "-q", "-b", "main", "origin");
  await release("0.1.0", { "config/remora.yaml": "a: 1\n", "main.ts": "one\n" });
  git(home, "clone", "-q", origin, "clone");
});
afterEach(() => rm(home, { recursive: true, force: true }));

const find = (wanted?: string) => createGitCheckout(clone).findTarget("0.1.0", wanted);

test("finds the newest release, not one that is older or has a suffix", async () => {
  expect(await find()).toBeUndefined();
  await release("0.9.0");
  const commit = await release("0.10.0", { "CHANGELOG.md": "# Changelog\n" });
  await release("0.11.0-beta");
  expect(await find()).toEqual({
    ...{ name: "v0.10.0", commit, version: "0.10.0", changelog: "# Changelog", changelogHere: "" },
    schemaChanges: "Data: this version does not say whether it changes the format of your data.",
  });
  expect(await find("v0.9.0")).toMatchObject({ version: "0.9.0" });
  await expect(find("v7.0.0")).rejects.toThrow("there is no version v7.0.0. Nothing was changed");
});

test("without releases, follows the branch", async () => {
  git(origin, "tag", "-d", "v0.1.0");
  git(clone, "tag", "-d", "v0.1.0");
  expect(await find()).toBeUndefined();
  await writeFile(join(origin, "main.ts"), "two\n");
  git(origin, "commit", "-qam", "two");
  expect(await find()).toMatchObject({ name: "origin/main", version: "0.1.0" });
});

test("moves forward and back, and keeps what the operator changed", async () => {
  await writeFile(join(clone, "config", "remora.yaml"), "a: 2\n");
  const target = await release("0.2.0", { "main.ts": "two\n" });
  const checkout = createGitCheckout(clone);
  const before = await checkout.commit();
  expect(await find()).toMatchObject({ commit: target });
  await checkout.moveTo(target);
  expect(await readFile(join(clone, "main.ts"), "utf8")).toBe("two\n");
  await checkout.moveBack(before, target);
  expect(await readFile(join(clone, "main.ts"), "utf8")).toBe("one\n");
  expect(await readFile(join(clone, "config", "remora.yaml"), "utf8")).toBe("a: 2\n");
  git(clone, "checkout", "-q", "v0.1.0");
  await checkout.moveTo(target);
  expect(await checkout.commit()).toBe(target);
});

test("a move that was cut off in the middle is undone, and a lock that git left is named", async () => {
  await writeFile(join(clone, "config", "remora.yaml"), "a: 2\n");
  git(origin, "rm", "-q", "main.ts");
  const target = await release("0.2.0", { "new.ts": "new\n", "main.js": "two\n" });
  const checkout = createGitCheckout(clone);
  const before = await checkout.commit();
  await find();
  // What git had written before it was killed: some files, and not its index.
  await writeFile(join(clone, "new.ts"), "ne");
  await rm(join(clone, "main.ts"));
  await writeFile(join(clone, "package.json"), '{ "version": "0.2.0" }');
  await writeFile(join(clone, ".git", "index.lock"), "");
  await expect(checkout.moveBack(before, target)).rejects.toThrow(
    /index\.lock': File exists.*If no other git command runs, delete that file/,
  );
  await rm(join(clone, ".git", "index.lock"));
  await checkout.moveBack(before, target);
  await checkout.moveBack(before, target);
  expect(git(clone, "status", "--porcelain")).toBe("M config/remora.yaml");
  expect(await readFile(join(clone, "main.ts"), "utf8")).toBe("one\n");
});

test("a file of people is not overwritten by a new one of the same name", async () => {
  await release("0.2.0", { "notes.md": "new\n" });
  await writeFile(join(clone, "notes.md"), "mine\n");
  await expect(find()).rejects.toThrow("changed here and in the new version: notes.md");
});

test.each<[string, () => Promise<void>, string]>([
  ["changed code", () => writeFile(join(clone, "main.ts"), "mine\n"), "changed here: main.ts. Commit or undo"],
  [
    "a clash",
    () => writeFile(join(clone, "config", "remora.yaml"), "a: 2\n"),
    "changed here and in the new version: config",
  ],
  [
    "own commits",
    async () => {
      await writeFile(join(clone, "main.ts"), "mine\n");
      git(clone, "commit", "-qam", "mine");
    },
    "has commits that v0.2.0 does not have",
  ],
  ["no network", () => rm(origin, { recursive: true }), "can't be fetched: '"],
])("refuses %s, and changes nothing", async (_name, change, message) => {
  await release("0.2.0", { "config/remora.yaml": "a: 3\n" });
  await change();
  const before = git(clone, "status", "--porcelain") + git(clone, "rev-parse", "HEAD");
  await expect(find()).rejects.toThrow(message);
  expect(git(clone, "status", "--porcelain") + git(clone, "rev-parse", "HEAD")).toBe(before);
});

test("versions are ordered by number, and a suffix comes first", () => {
  const ordered = ["0.1.0", "0.2.0-beta", "0.2.0", "0.10.0", "1.0.0"];
  expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered);
  expect(compareVersions("v1.2.3", "1.2.3")).toBe(0);
});

test("shows what the changelog says about newer versions only", () => {
  const text =
    "# Changelog\n\n## [Unreleased]\n- u\n\n## [0.3.0] - 2026-12-01\n- c\n\n## [0.2.0] - 2026-11-30\n- b\n\n## [0.1.0] - 2026-11-21\n- a\n";
  const newer = { version: "0.1.0", withUnreleased: false };
  expect(changesSince(text, newer)).toBe("## [0.3.0] - 2026-12-01\n\n- c\n\n## [0.2.0] - 2026-11-30\n\n- b");
  const branch = { version: "0.3.0", withUnreleased: true };
  expect(changesSince(text, branch)).toBe("## [Unreleased]\n\n- u");
  expect(changesSince(text, { ...branch, known: text })).toBe("");
  const more = text.replace("- u\n", "### Added\n\n- u\n- v, which\n  is long\n\n### Fixed\n\n- a\n");
  expect(changesSince(more, { ...branch, known: text })).toBe("## [Unreleased]\n\n### Added\n\n- v, which\n  is long");
});
