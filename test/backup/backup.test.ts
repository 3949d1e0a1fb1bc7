/** Backups of a data folder in use, and restores: whole, damaged, foreign, too new, over something, and interrupted. */
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BackupOptions, createBackup } from "../../src/backup/create-backup.ts";
import { checkBackup, type RestoreOptions, restoreBackup } from "../../src/backup/restore.ts";
import { type TarEntry, writeTar } from "../../src/backup/tar.ts";

let home: string;
let data: string;
let workspace: string;
let file: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "remora-backup-"));
  [data, workspace, file] = [join(home, "data"), join(home, "workspace"), join(home, "backup.tar.gz")];
  await mkdir(join(data, "audit"), { recursive: true });
  await mkdir(join(workspace, "brain", "corpus"), { recursive: true });
  await mkdir(join(workspace, "files", "dm"), { recursive: true });
  await writeFile(join(workspace, "files", "dm", "run.sh"), "echo", { mode: 0o755 });
  await symlink("run.sh", join(workspace, "files", "dm", "again"));
  await symlink("/etc/passwd", join(workspace, "files", "dm", "outside"));
  await writeFile(join(data, "page-token"), "secret");
  const database = new DatabaseSync(join(data, "ledger.db"));
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE pair (one INTEGER, other INTEGER); PRAGMA user_version = 1");
  database.exec("INSERT INTO pair VALUES (1, 1)");
  database.close();
});
afterEach(() => rm(home, { recursive: true, force: true }));

const backup = (changed: Partial<BackupOptions> = {}) =>
  createBackup({
    ...{ file, version: "0.2.0", data, workspace, hasSecrets: false, secrets: [], leftOut: [], redis: undefined },
    config: { name: "remora.yaml", text: "log: {}\n" },
    ...changed,
  });
const restoreOptions = (target: RestoreOptions["target"], changed: Partial<RestoreOptions> = {}): RestoreOptions => ({
  ...{ file, version: "0.2.0", target, verify: async () => [], redis: async () => undefined },
  ...changed,
});
const into = (folder: string) => restoreBackup(restoreOptions({ type: "folder", folder }));
const here = (replace: boolean, changed: Partial<RestoreOptions> = {}) =>
  restoreBackup(
    restoreOptions(
      {
        ...{ type: "installation", replace, data, workspace },
        ...{ configFile: join(home, "remora.yaml"), envFile: join(home, ".env") },
      },
      changed,
    ),
  );

/** Everything below a folder, with modes and contents. */
async function tree(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  const seen = names.map(async (name) => {
    const path = join(folder, name);
    const info = await stat(path);
    return info.isFile() ? `${name} ${(info.mode & 0o777).toString(8)} ${await hashOf(path)}` : name;
  });
  return await Promise.all(seen);
}
const hashOf = async (path: string) =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

test("a backup made during writes has whole transactions and whole lines", async () => {
  const writer = new DatabaseSync(join(data, "ledger.db"));
  const log = join(workspace, "brain", "corpus", "2026-11-22.a.jsonl");
  let isDone = false;
  const writing = (async () => {
    for (let number = 2; !isDone; number++) {
      writer.exec(`BEGIN; INSERT INTO pair VALUES (${number}, 0); UPDATE pair SET other = one; COMMIT`);
      await appendFile(log, `{"number":${number}`);
      await appendFile(log, `}\n`);
    }
  })();
  for (let round = 0; round < 5; round++) {
    await rm(file, { force: true });
    await backup();
    const folder = join(home, `restored-${round}`);
    await into(folder);
    const copy = new DatabaseSync(join(folder, "data", "ledger.db"));
    expect(copy.prepare("SELECT count(*) AS count FROM pair WHERE one <> other").get()).toEqual({ count: 0 });
    copy.close();
    const text = await readFile(join(folder, "workspace", "brain", "corpus", "2026-11-22.a.jsonl"), "utf8").catch(
      () => "",
    );
    for (const line of text.split("\n").slice(0, -1)) JSON.parse(line);
    expect(text === "" || text.endsWith("\n")).toBe(true);
  }
  isDone = true;
  await writing;
  writer.close();
});

test("files come back with their modes; outside links, secrets and derived files are left out", async () => {
  await writeFile(join(data, "memory.db"), "an index");
  await writeFile(join(data, "process.pid"), "1");
  // Otherwise the start after a restore would take the process of then for one that crashed.
  await writeFile(join(data, "running.json"), "{}");
  const { manifest } = await backup();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(manifest.leftOut).toEqual([{ path: "workspace/files/dm/outside", reason: "it is a link to a place outside" }]);
  await into(join(home, "new"));
  expect((await readdir(join(home, "new", "data"))).toSorted()).toEqual(["audit", "ledger.db"]);
  const files = join(home, "new", "workspace", "files", "dm");
  expect((await readdir(files)).toSorted()).toEqual(["again", "run.sh"]);
  expect((await stat(join(files, "run.sh"))).mode & 0o777).toBe(0o755);
  expect(await readFile(join(files, "again"), "utf8")).toBe("echo");
});

test("with secrets, the page's token, .env and secret files come along", async () => {
  await backup({
    hasSecrets: true,
    secrets: [
      { name: ".env", text: "A=1" },
      { name: "files/B", text: "b" },
    ],
  });
  await writeFile(join(home, ".env"), "A=0");
  const { secrets, aside } = await here(true);
  expect(await readFile(join(home, ".env"), "utf8")).toBe("A=1");
  expect(await readFile(join(data, "page-token"), "utf8")).toBe("secret");
  expect(await readFile(join(secrets ?? "", "B"), "utf8")).toBe("b");
  expect(await readFile(aside.find((path) => path.includes(".env")) ?? "", "utf8")).toBe("A=0");
});

test("a damaged, cut, foreign or newer file is refused, and nothing changes", async () => {
  await backup();
  const good = await readFile(file);
  const before = await tree(data);
  const refused = async (bytes: Buffer, message: string | RegExp) => {
    await writeFile(file, bytes);
    await expect(here(true)).rejects.toThrow(message);
    await expect(checkBackup(file, "0.2.0")).rejects.toThrow(message);
    await expect(into(join(home, "new"))).rejects.toThrow(message);
    expect(await tree(data)).toEqual(before);
    expect((await readdir(home)).toSorted()).toEqual(["backup.tar.gz", "data", "workspace"]);
  };
  await refused(good.subarray(0, good.length - 40), "is damaged");
  const flipped = Buffer.from(gunzipSync(good));
  const at = flipped.indexOf("echo");
  flipped.write("ECHO", at);
  await refused(gzipSync(flipped), "run.sh is not what was backed up");
  await refused(Buffer.from("hello"), "is not a backup");
  await refused(gzipSync(Buffer.from("hello")), /damaged|not a backup/);
  const newer = Buffer.from(gunzipSync(good));
  newer.write("9.2.0", newer.indexOf("0.2.0"));
  await refused(gzipSync(newer), "Remora 9.2.0 wrote it, and this is 0.2.0. Upgrade Remora first");
  await expect(checkBackup(join(home, "none"), "0.2.0")).rejects.toThrow("does not exist");
});

test("an archive whose links together lead out of their folder, or that names other databases, is refused", async () => {
  const json = (name: string, value: unknown) => {
    const bytes = Buffer.from(JSON.stringify(value));
    const content = (async function* () {
      yield bytes;
    })();
    return { name, mode: 0o600, mtimeMs: 0, type: "file" as const, size: bytes.length, content };
  };
  const link = (name: string, target: string) => ({ name, mode: 0o777, mtimeMs: 0, type: "link" as const, target });
  const hostile = async (entries: TarEntry[], schemas: Record<string, number>) => {
    const header = { format: 1, remora: "0.2.0", createdAt: new Date(0).toISOString(), hasSecrets: false };
    const all = async function* () {
      yield json("remora-backup.json", { ...header, storage: "sqlite" });
      yield* entries;
      yield json("manifest.json", { files: [], schemas, leftOut: [] });
    };
    const chunks: Uint8Array[] = [];
    for await (const chunk of writeTar(all())) chunks.push(chunk);
    await writeFile(file, gzipSync(Buffer.concat(chunks)));
    return await into(join(home, "new"));
  };
  const folders = ["data/a/b", "data/d"].map((name) => ({ name, mode: 0o700, mtimeMs: 0, type: "folder" as const }));
  const links = [link("data/a/b/c", "../../d"), link("data/a/b/c/out", "../../../etc")];
  await expect(hostile([...folders, ...links], {})).rejects.toThrow("data/a/b/c/out is below a link");
  await expect(hostile([...folders, ...links.toReversed()], {})).rejects.toThrow("data/a/b/c/out is below a link");
  await expect(hostile([], { "data/../../data/ledger.db": 1 })).rejects.toThrow("is missing");
  expect((await readdir(home)).toSorted()).toEqual(["backup.tar.gz", "data", "workspace"]);
});

test("a database that is damaged inside is found, at the backup and at the restore", async () => {
  const broken = await readFile(join(data, "ledger.db"));
  broken.fill(255, 4096);
  await writeFile(join(data, "ledger.db"), broken);
  await expect(backup()).rejects.toThrow(/damaged|malformed/);
  expect(existsSync(file)).toBe(false);
  expect(await readdir(home)).toEqual(["data", "workspace"]);
});

test("a link that leads nowhere is moved aside like everything else", async () => {
  await backup();
  await rm(join(workspace, "files"), { recursive: true });
  const nowhere = join(home, "a disk that is not there");
  for (const path of [join(workspace, "files"), join(home, "remora.yaml")]) await symlink(nowhere, path);
  const { aside } = await here(true);
  expect(await readFile(join(workspace, "files", "dm", "again"), "utf8")).toBe("echo");
  const old = aside.find((path) => path.startsWith(workspace)) ?? "";
  expect(await readlink(join(old, "files"))).toBe(nowhere);
  expect(await readFile(join(home, "remora.yaml"), "utf8")).toBe("log: {}\n");
});

test("what is there is only replaced on request, and then kept", async () => {
  await backup();
  await expect(here(false)).rejects.toThrow("--replace");
  await writeFile(join(data, "later"), "later");
  const { aside } = await here(true);
  expect(existsSync(join(data, "later"))).toBe(false);
  expect(await readFile(join(aside[0] ?? "", "later"), "utf8")).toBe("later");
  expect(existsSync(join(data, ".remora-restore"))).toBe(false);
  await mkdir(join(home, "full"));
  await writeFile(join(home, "full", "x"), "");
  await expect(into(join(home, "full"))).rejects.toThrow("is not empty");
});

test("if today's code can't open what was unpacked, nothing changes", async () => {
  await backup();
  const before = await tree(home);
  const verify = () => Promise.reject(new Error("newer schema"));
  await expect(here(true, { verify })).rejects.toThrow("newer schema");
  expect(await tree(home)).toEqual(before);
});

/** A file system of 64 KiB, if this machine lets tests mount one. */
function mountSmallDisk(folder: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "remora-test", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test("a full disk is named, and nothing is left behind", async (context) => {
  await writeFile(join(workspace, "files", "dm", "large"), randomBytes(300_000));
  await backup();
  const disk = join(home, "disk");
  await mkdir(disk);
  if (!mountSmallDisk(disk)) context.skip("this machine does not let tests mount a file system");
  try {
    await expect(backup({ file: join(disk, "b.tar.gz") })).rejects.toThrow("the disk is full, so there is no backup");
    await expect(into(join(disk, "new"))).rejects.toThrow("the disk is full. Free some space. Nothing was changed.");
    expect(await readdir(disk)).toEqual([]);
  } finally {
    execFileSync("umount", [disk]);
  }
});

/** Ends the process by SIGKILL before the nth rename of a restore, and then finishes it as a start does. */
function restoreKilledAt(rename: number): "died" | "ended" {
  const url = (path: string) => JSON.stringify(new URL(`../../src/backup/${path}.ts`, import.meta.url).href);
  const options = JSON.stringify(
    restoreOptions({
      ...{ type: "installation", replace: true, data, workspace },
      ...{ configFile: join(home, "remora.yaml"), envFile: join(home, ".env") },
    }),
  );
  const script = `
    import promises from "node:fs/promises";
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    let count = 0;
    const step = (original) => (...given) => {
      if (++count === ${rename}) process.kill(process.pid, "SIGKILL");
      return original(...given);
    };
    promises.rename = step(promises.rename);
    fs.rename = step(fs.rename);
    syncBuiltinESMExports();
    const { restoreBackup } = await import(${url("restore")});
    await restoreBackup({ ...${options}, verify: async () => [], redis: async () => undefined });
  `;
  try {
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "ignore", "pipe"] });
    return "ended";
  } catch (thrown) {
    if ((thrown as { signal?: string }).signal !== "SIGKILL") throw thrown;
    return "died";
  }
}

test("killed at any rename, a restore has either not begun or is finished by the next start", async () => {
  await backup();
  const { finishSwap } = await import("../../src/backup/swap.ts");
  await into(join(home, "expected"));
  const expected = [await tree(join(home, "expected", "data")), await tree(join(home, "expected", "workspace"))];
  const content = async () =>
    (await Promise.all([tree(data), tree(workspace)])).map((names) =>
      names.filter((name) => !name.startsWith("before-restore-") && !name.startsWith(".remora-restore")),
    );
  const outcomes: string[] = [];
  for (let rename = 1; ; rename++) {
    await writeFile(join(data, "later"), "later");
    const before = await content();
    const outcome = restoreKilledAt(rename);
    const wasDecided = await finishSwap(data, async () => {});
    expect(await content()).toEqual(wasDecided || outcome === "ended" ? expected : before);
    outcomes.push(outcome === "ended" ? "ended" : wasDecided ? "finished" : "not begun");
    for (const folder of [data, workspace])
      for (const name of await readdir(folder))
        if (name.startsWith("before-restore-")) await rm(join(folder, name), { recursive: true });
    if (outcome === "ended") break;
  }
  expect(new Set(outcomes)).toEqual(new Set(["not begun", "finished", "ended"]));
});
