/** Importing from other agents: layouts as they are on disk, hostile contents, and doing it twice. */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ImportFlags, importCommand } from "../../src/cli/import.ts";
import type { Environment } from "../../src/config/environment.ts";
import { silentLog } from "../../src/lib/log.ts";
import { readNoteMark } from "../../src/memory/origin-mark.ts";
import { createRedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLeases } from "../../src/storage/redis/leases.ts";
import { lockData } from "../../src/storage/sqlite/data-lock.ts";
import { missingRedis, redisNote, startRedisServer } from "../doubles/redis-server.ts";

const root = resolve(import.meta.dirname, "../..");
const token = `sk-ant-${"a1".repeat(20)}`;
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "remora-import-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text);
  }
}

async function run(source: string, folder: string, flags: ImportFlags = {}, more: Environment = {}): Promise<string> {
  const env = {
    ...more,
    REMORA_WORKSPACE: join(home, "workspace"),
    REMORA_DATA: join(home, "data"),
    REMORA_ENV_FILE: "/dev/null",
  };
  let shown = "";
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    shown += text;
    return true;
  });
  try {
    await importCommand(env, root, source, join(home, folder), flags);
  } finally {
    spy.mockRestore();
  }
  return shown;
}

const skill = (name: string, more = "") => `---\nname: ${name}\ndescription: Makes tea.\n${more}---\n\nBoil water.\n`;
const notes = join("workspace", "brain", "hippocampus", "knowledge");
const all = async (folder: string) => (await readdir(join(home, folder), { recursive: true })).toSorted();

const openClaw = {
  ".openclaw/openclaw.json": `{"key":"${token}"}`,
  ".openclaw/workspace/SOUL.md": "# Soul\n\nBe kind.\n",
  ".openclaw/workspace/IDENTITY.md": `Ann${"\u200b"}\n`,
  ".openclaw/workspace/USER.md": "Ann lives in Bern.\n",
  ".openclaw/workspace/AGENTS.md": "Read SOUL.md first.\n",
  ".openclaw/workspace/MEMORY.md": `The key is ${token}.\nThe printer is on floor 2.\n`,
  ".openclaw/workspace/memory/2026-11-01.md": "We fixed the printer.\n",
  ".openclaw/workspace/HEARTBEAT.md": "ping\n",
  ".openclaw/workspace/skills/tea/SKILL.md": skill("tea"),
  ".openclaw/workspace/skills/tea/scripts/boil.sh": "echo\n",
  ".openclaw/workspace/skills/shell/SKILL.md": skill("shell"),
  ".openclaw/workspace/skills/broken/SKILL.md": "no frontmatter",
  ".openclaw/workspace/skills/leaky/SKILL.md": skill("leaky"),
  ".openclaw/workspace/skills/leaky/.env": "A=1",
  ".openclaw/skills/code/SKILL.md": skill("code"),
  ".openclaw/skills/code/plugin.ts": "export default {}",
};

test("OpenClaw: shows what becomes what, and changes nothing", async () => {
  await write(openClaw);
  const text = await run("openclaw", ".openclaw");
  expect(text).toContain("workspace/SOUL.md: persona, to brain/identity/openclaw-soul.md");
  expect(text).toContain("workspace/IDENTITY.md: not imported: it has invisible characters");
  expect(text).toContain("workspace/USER.md: note “OpenClaw The person” in shared");
  expect(text).toContain("workspace/MEMORY.md: note “OpenClaw Memory” in shared, without the secrets in it");
  expect(text).toContain("workspace/memory/2026-11-01.md: note “OpenClaw 2026-11-01” in shared");
  expect(text).toContain("workspace/skills/tea: skill tea, to skills/tea");
  expect(text).toContain("workspace/skills/shell: not imported: the skill shell has the same name or tool");
  expect(text).toContain("workspace/skills/broken: not imported: it can't be loaded");
  expect(text).toContain("workspace/skills/leaky: not imported: it has a secret");
  expect(text).toContain(
    "skills/code: not imported: a person must read what it declares. Use: npm run -s remora -- skills add",
  );
  expect(text).toContain("openclaw.json: not imported: it has credentials");
  expect(text).toContain("Nothing was changed. To import 6 things, add --apply.");
  expect(text).not.toContain(token);
  expect(await all("workspace")).toEqual(["skills"]);
});

test("OpenClaw: imports once; a second time there is nothing to do", async () => {
  await write(openClaw);
  await expect(run("openclaw", ".openclaw", { apply: true })).rejects.toThrow("say who may read the imported notes");
  expect(await all("workspace")).toEqual(["skills"]);
  expect(await run("openclaw", ".openclaw", { apply: true, scope: "dm:ann" })).toContain("Imported 6 things.");
  const before = await all("workspace");
  expect(before).toContain("skills/tea/scripts/boil.sh");
  const memory = await readFile(join(home, notes, "dm:ann", "openclaw-memory.md"), "utf8");
  expect(readNoteMark(memory)).toMatchObject({ origins: [{ kind: "file", name: "MEMORY.md of OpenClaw" }] });
  expect(memory).toContain("The key is [redacted].\nThe printer is on floor 2.");
  await writeFile(join(home, "workspace", "brain", "identity", "openclaw-soul.md"), "Mine.\n");
  expect(await run("openclaw", ".openclaw", { apply: true, scope: "dm:ann" })).toContain("There is nothing to import.");
  expect(await all("workspace")).toEqual(before);
  expect(await readFile(join(home, "workspace", "brain", "identity", "openclaw-soul.md"), "utf8")).toBe("Mine.\n");
});

test("Hermes: entries become a list, and skills are found below categories", async () => {
  await write({
    "h/SOUL.md": "You are terse.\n",
    "h/memories/MEMORY.md": "Uses pnpm.\n§\nDeploys on Friday.\nNever at night.\n",
    "h/memories/USER.md": "Ben.\n",
    "h/skills/mlops/tea/SKILL.md": skill("tea"),
    "h/skills/.hub/cache/SKILL.md": skill("cache"),
    "h/auth.json": "{}",
  });
  const text = await run("hermes", "h", { apply: true, scope: "shared" });
  expect(text).toContain("Imported 4 things.");
  expect(text).not.toContain("cache");
  const memory = await readFile(join(home, notes, "shared", "hermes-memory.md"), "utf8");
  expect(readNoteMark(memory).text).toBe("# Hermes Memory\n\n- Uses pnpm.\n- Deploys on Friday.\n  Never at night.\n");
});

test("Claude: project, home and export", async () => {
  await write({
    "c/CLAUDE.md": "Use pnpm.\n",
    "c/.claude/skills/tea/SKILL.md": skill("tea"),
    "c/projects/-home-ann-app/memory/MEMORY.md": "The app uses Hono.\n",
    "c/memories.json": JSON.stringify([
      { conversations_memory: "Ann is a vet.", project_memories: { abcdef0123: "Cats." } },
    ]),
    "c/conversations.json": "[]",
  });
  const text = await run("claude", "c", { apply: true, scope: "dm:ann" });
  expect(text).toContain("note “Claude Instructions”");
  expect(text).toContain("note “Claude Project abcdef01”");
  expect(text).toContain("conversations.json: not imported: conversations are not taken over");
  expect(text).toContain("Imported 5 things.");
  await write({ "c/memories.json": "{not json" });
  expect(await run("claude", "c")).toContain("memories.json: not imported: it is not valid JSON");
});

test("links, large files and binary files are not read", async () => {
  await write({ "secret.md": "secret", "h/memories/USER.md": "x".repeat(1024 * 1024 + 1) });
  await symlink(join(home, "secret.md"), join(home, "h", "SOUL.md"));
  await writeFile(join(home, "h", "memories", "MEMORY.md"), Buffer.from([0, 1, 2]));
  await mkdir(join(home, "h", "skills", "tea"), { recursive: true });
  await writeFile(join(home, "h", "skills", "tea", "SKILL.md"), skill("tea"));
  await symlink(join(home, "secret.md"), join(home, "h", "skills", "tea", "notes.md"));
  const text = await run("hermes", "h");
  expect(text).toContain("SOUL.md: not imported: it is not a file");
  expect(text).toContain("USER.md: not imported: it has more than 1 MiB");
  expect(text).toContain("MEMORY.md: not imported: it is not text");
  expect(text).toContain(
    "skills/tea: not imported: this skill can't be added: notes.md is a link that leads out of it",
  );
  expect(text).toContain("There is nothing to import.");
});

test.each([
  ["chatgpt", "h", "Use one of openclaw, hermes, claude"],
  ["hermes", "none", "does not exist"],
  ["hermes", "workspace", "has no persona, memory or skills of Hermes"],
])("refuses %s %s", async (source, folder, message) => {
  await mkdir(join(home, "workspace", "empty"), { recursive: true });
  await expect(run(source, folder)).rejects.toThrow(message);
});

test("nothing is imported beside a running agent without Redis", async () => {
  await write(openClaw);
  const running = lockData(join(home, "data"));
  const apply = { apply: true, scope: "shared" };
  await expect(run("openclaw", ".openclaw", apply)).rejects.toThrow("Remora is running");
  expect(await run("openclaw", ".openclaw")).toContain("Nothing was changed");
  running.release();
  expect(await run("openclaw", ".openclaw", apply)).toContain("Imported");
  lockData(join(home, "data")).release();
});

test.skipIf(missingRedis !== undefined)(
  `with Redis, each note waits for the agent's lock${redisNote}`,
  async () => {
    await write({ "CLAUDE.md": "The printer is on floor 2.\n" });
    const server = await startRedisServer({ persistence: "none" });
    const connection = createRedisConnection(server.url, silentLog);
    const leases = createRedisLeases({ connection, prefix: "{remora}:", lockMs: 10_000 });
    const note = (await run("claude", ".")).match(/note “(.+)” in shared/)?.[1] ?? "";
    const file = `brain/hippocampus/knowledge/shared/${note.toLowerCase().replaceAll(" ", "-")}.md`;
    const held = await leases.acquire(`file:${file}`);
    const importing = run("claude", ".", { apply: true, scope: "shared" }, { REDIS_URL: server.url });
    await expect.poll(async () => await server.client.info("commandstats"), { timeout: 10_000 }).toContain("evalsha");
    expect(await all("workspace")).not.toContain(file);
    await held?.release();
    expect(await importing).toContain("Imported");
    expect(await all("workspace")).toContain(file);
    await leases.close();
    await connection.close();
    await server.dispose();
  },
  60_000,
);
