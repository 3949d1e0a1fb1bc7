/**
 * `remora upgrade` with real processes, in a git checkout of this project: to a good version, to one whose migration
 * fails, and to one that migrates the data and then does not work.
 */
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { type Ended, runCommand } from "../cli/remora-command.ts";

const project = resolve(import.meta.dirname, "../..");
const copied = ["src", "scripts", "skills", "config", "workspace", "package.json", "package-lock.json", ".gitignore"];
let home: string;
let origin: string;
let clone: string;

const git = (folder: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...args], {
    cwd: folder,
    encoding: "utf8",
  }).trim();

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "remora-upgrade-"));
  [origin, clone] = [join(home, "origin"), join(home, "clone")];
  await mkdir(origin);
  const tracked = git(project, "ls-files", "-z", ...copied)
    .split("\0")
    .filter((path) => path !== "");
  for (const path of tracked) await cp(join(project, path), join(origin, path));
  const packageJson = await text(origin, "package.json");
  await writeFile(join(origin, "package.json"), packageJson.replace(/"version": "[^"]+"/, '"version": "0.1.0"'));
  await writeFile(join(origin, "CHANGELOG.md"), "# Changelog\n\n## [0.1.0] - 2026-11-21\n");
  // The packages are the project's own, so nothing may install over them.
  await writeFile(join(origin, "scripts", "bootstrap.mjs"), "");
  git(origin, "init", "-q", "-b", "main");
  git(origin, "add", "-A");
  git(origin, "commit", "-qm", "first");
  git(origin, "tag", "v0.1.0");
  git(home, "clone", "-q", origin, "clone");
  await symlink(join(project, "node_modules"), join(clone, "node_modules"));
  const ledger = createSqliteLedger({ path: join(clone, "data", "ledger.db") });
  await ledger.create("skill-switch", "web", { state: "off", body: {}, group: "" });
  await ledger.close();
  await mkdir(join(clone, "workspace", "brain", "hippocampus", "knowledge"), { recursive: true });
  await writeFile(join(clone, "workspace", "brain", "hippocampus", "knowledge", "note.md"), "Ann likes tea.\n");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** A version that differs from the one before in these replacements. */
async function release(version: string, changes: [file: string, from: string, to: string][]): Promise<void> {
  const all: typeof changes = [
    [
      "package.json",
      /"version": "[^"]+"/.exec(await text(origin, "package.json"))?.[0] ?? "",
      `"version": "${version}"`,
    ],
    ...changes,
  ];
  for (const [file, from, to] of all) {
    const old = await text(origin, file);
    expect(old).toContain(from);
    await writeFile(join(origin, file), old.replace(from, to));
  }
  git(origin, "commit", "-qam", version);
  git(origin, "tag", `v${version}`);
}
const text = (folder: string, file: string) => readFile(join(folder, file), "utf8");
const upgrade = (...flags: string[]): Promise<Ended> =>
  runCommand(
    clone,
    { PATH: process.env.PATH ?? "", HOME: home, OLLAMA_HOST: "http://127.0.0.1:1" },
    "upgrade",
    ...flags,
  );

function schemaVersion(): number {
  const database = new DatabaseSync(join(clone, "data", "ledger.db"), { readOnly: true });
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  database.close();
  return version;
}
const isIgnored = (name: string) => /^(?:process|before-restore)/.test(name);
const inData = async () => (await readdir(join(clone, "data"))).filter((name) => !isIgnored(name));
const endOfMigrations = `CREATE INDEX entry_by_group ON entry (kind, "group");\`,\n`;

test("upgrades only with a yes, and back again", async () => {
  await release("0.2.0", [
    ["CHANGELOG.md", "## [0.1.0]", "## [0.2.0] - 2026-12-01\n\n- Tea.\n\n## [0.1.0]"],
    ["src/storage/sqlite/ledger.ts", endOfMigrations, `${endOfMigrations}  "CREATE TABLE tea (cup TEXT)",\n`],
  ]);
  const checked = await upgrade("--check");
  expect(checked.stdout).toContain("Remora 0.1.0 → 0.2.0 (v0.2.0)\n\n## [0.2.0] - 2026-12-01\n\n- Tea.");
  const unasked = await upgrade();
  expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no terminal to ask on") });
  expect(schemaVersion()).toBe(1);
  const done = await upgrade("--yes");
  expect(done).toMatchObject({ code: 0, stderr: "" });
  expect(done.stdout).toContain("Remora 0.2.0 is installed. Start it now.");
  expect(schemaVersion()).toBe(2);
  expect((await upgrade()).stdout).toBe("Remora 0.2.0 is the newest version.\n");
  const back = await upgrade("--back", "--yes");
  expect(back.stdout).toContain("Remora 0.1.0 is back. Start it now.");
  expect(schemaVersion()).toBe(1);
  expect(JSON.parse(await text(clone, "package.json")).version).toBe("0.1.0");
  expect(await text(clone, "workspace/brain/hippocampus/knowledge/note.md")).toBe("Ann likes tea.\n");
});

test("a migration that fails is found on a copy, and the code goes back", async () => {
  await release("0.3.0", [
    [
      "src/storage/sqlite/ledger.ts",
      "CREATE TABLE tea (cup TEXT)",
      "CREATE TABLE tea (cup TEXT); INSERT INTO none VALUES (1)",
    ],
  ]);
  const failed = await upgrade("--yes");
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("no such table: none") });
  expect(failed.stderr).toContain("The code is as it was before; the data was not touched. Start Remora 0.1.0 again.");
  expect(schemaVersion()).toBe(1);
  expect(JSON.parse(await text(clone, "package.json")).version).toBe("0.1.0");
});

const ruin = '(await import("node:fs")).writeFileSync("data/ruined", ""), (() => { throw new Error("cracked"); })()';

test("a version that migrates the data and then does not work is undone, data included", async () => {
  await release("0.4.0", [
    ["src/storage/sqlite/ledger.ts", "; INSERT INTO none VALUES (1)", ""],
    ["src/main.ts", '(await import("./cli/doctor.ts"))', `(${ruin}, await import("./cli/doctor.ts"))`],
  ]);
  const failed = await upgrade("--yes");
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("cracked") });
  expect(failed.stderr).toContain("Code and data are as they were before. Start Remora 0.1.0 again.");
  expect(schemaVersion()).toBe(1);
  const ledger = createSqliteLedger({ path: join(clone, "data", "ledger.db") });
  expect(await ledger.get("skill-switch", "web")).toMatchObject({ state: "off" });
  await ledger.close();
  expect(await inData()).not.toContain("ruined");
  expect(git(clone, "status", "--porcelain")).toBe("");
});
