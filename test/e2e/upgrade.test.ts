/**
 * `remora upgrade` with real processes, in a git checkout of this project whose service runs: to a good version, to one whose
 * migration fails, to one that migrates the data and then does not start, and one that is killed in the middle. The double
 * of systemctl starts and stops the real process.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { type Ended, runCommand } from "../cli/remora-command.ts";
import { isWhole } from "../faults/share.ts";

const project = resolve(import.meta.dirname, "../..");
const copied = ["src", "scripts", "skills", "config", "workspace", "package.json", "package-lock.json", ".gitignore"];
let home: string;
let origin: string;
let clone: string;
let env: Record<string, string>;
const patience = { timeout: 60_000, interval: 100 };

/** Like a service of the type `notify`, `start` ends when Remora is ready, or has ended. */
const systemctl = `#!/bin/sh
[ "$1" = --user ] && shift
cd "$HOME/clone"
alive() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' /proc/$1/status; }
pid=$(cat ../service.pid 2>/dev/null || echo 0)
case $1 in
  is-active) if [ "$pid" != 0 ] && alive $pid; then echo active; else echo inactive; exit 3; fi ;;
  stop) kill -TERM $pid 2>/dev/null; while alive $pid; do sleep 0.2; done ;;
  start)
    : >../service.log
    node src/remora.mjs start >../service.log 2>&1 &
    echo $! >../service.pid
    until grep -q "Remora is ready" ../service.log; do alive $! || { cat ../service.log >&2; echo "Job for $2 failed."; exit 1; }; sleep 0.3; done ;;
esac
`;

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
  const units = join(home, ".config/systemd/user");
  for (const folder of [units, join(home, "bin")]) await mkdir(folder, { recursive: true });
  await writeFile(join(units, "remora.service"), `[Service]\nWorkingDirectory=${clone}\n`);
  await writeFile(join(home, "bin", "systemctl"), systemctl, { mode: 0o755 });
  const path = [join(home, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter);
  env = {
    PATH: path,
    HOME: home,
    REMORA_MODEL: "demo",
    OLLAMA_HOST: "http://127.0.0.1:1",
    REMORA_PORT: "0",
    LOG_LEVEL: "error",
  };
  await mkdir(join(clone, "workspace", "brain", "hippocampus", "knowledge"), { recursive: true });
  await writeFile(join(clone, "workspace", "brain", "hippocampus", "knowledge", "note.md"), "Ann likes tea.\n");
  execFileSync("systemctl", ["--user", "start", "remora.service"], { env });
}, 300_000);
afterAll(async () => {
  execFileSync("systemctl", ["--user", "stop", "remora.service"], { env });
  await rm(home, { recursive: true, force: true });
});

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
const upgrade = (...flags: string[]): Promise<Ended> => runCommand(clone, env, "upgrade", ...flags);

/** What the process that runs now says, and its id. */
async function running(): Promise<{ pid: number; status: number }> {
  const { pid, url } = JSON.parse(await text(clone, "data/running.json")) as { pid: number; url: string };
  expect(pid).toBe(Number(await text(home, "service.pid")));
  return { pid, status: (await fetch(`${url}/readyz`)).status };
}
const versionInForce = async () => JSON.parse(await text(clone, "package.json")).version;

function schemaVersion(): number {
  const database = new DatabaseSync(join(clone, "data", "ledger.db"), { readOnly: true });
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  database.close();
  return version;
}
const isIgnored = (name: string) => /^(?:process|before-restore)/.test(name);
const inData = async () => (await readdir(join(clone, "data"))).filter((name) => !isIgnored(name));
const endOfMigrations = `WHERE kind = 'turn' AND state IN ('parked');\`,\n`;

test("upgrades only with a yes, and back again", async () => {
  await release("0.2.0", [
    ["CHANGELOG.md", "## [0.1.0]", "## [0.2.0] - 2026-12-01\n\n- Tea.\n\n## [0.1.0]"],
    ["src/storage/sqlite/ledger.ts", endOfMigrations, `${endOfMigrations}  "CREATE TABLE tea (cup TEXT)",\n`],
    ["src/storage/schema-versions.json", '"ledger.db": 2', '"ledger.db": 3'],
  ]);
  const { pid: before } = await running();
  const checked = await upgrade("--check");
  expect(checked.stdout).toContain("Remora 0.1.0 → 0.2.0 (v0.2.0)\n\n## [0.2.0] - 2026-12-01\n\n- Tea.");
  expect(checked.stdout).toContain("Data: this version changes ledger.db (format 2 → 3). Older versions can't read it");
  const unasked = await upgrade();
  expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no terminal to ask on") });
  const elsewhere = { ...env, HOME: join(home, "nobody") };
  const byHand = await runCommand(clone, elsewhere, "upgrade", "--yes");
  expect(byHand).toMatchObject({ code: 1, stderr: expect.stringContaining(`Remora is running (process ${before})`) });
  expect(existsSync(join(clone, "backups"))).toBe(false);
  expect(schemaVersion()).toBe(2);
  expect((await running()).pid).toBe(before);
  const done = await upgrade("--yes");
  expect(done).toMatchObject({ code: 0, stderr: "" });
  expect(done.stdout).toContain("Remora 0.2.0 is installed, runs and is ready.");
  expect(schemaVersion()).toBe(3);
  expect((await running()).status).toBe(200);
  expect((await running()).pid).not.toBe(before);
  expect((await upgrade()).stdout).toBe("Remora 0.2.0 is the newest version.\n");
  const back = await upgrade("--back", "--yes");
  expect(back.stdout).toContain("Remora 0.1.0 is back and ready.");
  expect(schemaVersion()).toBe(2);
  expect(await versionInForce()).toBe("0.1.0");
  expect((await running()).status).toBe(200);
  expect(await text(clone, "workspace/brain/hippocampus/knowledge/note.md")).toBe("Ann likes tea.\n");
}, 300_000);

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
  expect(failed.stderr).toContain("The code is as it was before; the data was not touched. Remora 0.1.0 runs again.");
  expect(schemaVersion()).toBe(2);
  expect(await versionInForce()).toBe("0.1.0");
  expect((await running()).status).toBe(200);
}, 300_000);

const ruin = '(await import("node:fs")).writeFileSync("data/ruined", ""), (() => { throw new Error("cracked"); })()';

test("a version that migrates the data and then does not start is undone, data included", async () => {
  await release("0.4.0", [
    ["src/storage/sqlite/ledger.ts", "; INSERT INTO none VALUES (1)", ""],
    ["src/main.ts", '(await import("./cli/start.ts"))', `(${ruin}, await import("./cli/start.ts"))`],
  ]);
  const failed = await upgrade("--yes");
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("Job for remora.service failed.") });
  expect(failed.stderr).toContain("Code and data are as they were before. Remora 0.1.0 runs again.");
  expect((await running()).status).toBe(200);
  expect(schemaVersion()).toBe(2);
  const ledger = createSqliteLedger({ path: join(clone, "data", "ledger.db") });
  expect(await ledger.get("skill-switch", "web")).toMatchObject({ state: "off" });
  await ledger.close();
  expect(await inData()).not.toContain("ruined");
  expect(git(clone, "status", "--porcelain")).toBe("");
}, 300_000);

// test/backup/upgrade-steps.test.ts dies at each step in every run.
test.runIf(isWhole)(
  "killed in the middle, it starts nothing half-done, says so, and goes back",
  async () => {
    const hang =
      'import { writeFileSync } from "node:fs"; writeFileSync("data/hangs", String(process.pid)); setInterval(() => {}, 1000);';
    await writeFile(join(origin, "scripts", "bootstrap.mjs"), hang);
    await release("0.5.0", [["src/main.ts", ruin, "0"]]);
    const killed = spawn(process.execPath, ["src/remora.mjs", "upgrade", "--yes"], {
      cwd: clone,
      env,
      stdio: "ignore",
    });
    const ended = new Promise((done) => killed.once("exit", done));
    await expect.poll(() => readFile(join(clone, "data", "hangs"), "utf8").catch(() => ""), patience).not.toBe("");
    killed.kill("SIGKILL");
    await ended;
    process.kill(Number(await text(clone, "data/hangs")), "SIGKILL");
    const where = "the upgrade to Remora 0.5.0 was interrupted while installing packages";
    const todo = "Go back, which also starts what was stopped: npm run -s remora -- upgrade --back";
    for (const command of ["start", "doctor", "upgrade"])
      expect(await runCommand(clone, env, command)).toMatchObject({ code: 1, stderr: `[upgrade] ${where}. ${todo}\n` });
    expect(schemaVersion()).toBe(2);
    const back = await upgrade("--back", "--yes");
    expect(back).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("0.1.0 is back and ready.") });
    expect(await versionInForce()).toBe("0.1.0");
    expect((await running()).status).toBe(200);
  },
  300_000,
);
