/** Data of every earlier version: today's code restores it from a backup, and reads its history, cards and memory. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { verifyAudit } from "../../src/audit/verify.ts";
import { backupCommand } from "../../src/cli/backup.ts";
import { restoreCommand } from "../../src/cli/restore.ts";
import { createFileOrder } from "../../src/lib/file-order.ts";
import { createKnowledge } from "../../src/memory/knowledge.ts";
import { createChatStore } from "../../src/platforms/local/chat-store.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";

const root = resolve(import.meta.dirname, "../..");
const fixtures = join(root, "test", "fixtures", "data-folders");
const versions = [
  { name: "0.1.0", openApprovals: 0 },
  { name: "chat-1", openApprovals: 1 },
  { name: "chat-2", openApprovals: 1 },
];
const scope = "channel:general";
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "remora-old-"));
  await mkdir(join(home, "old"));
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(home, { recursive: true, force: true });
});

test("every fixture is read", async () => {
  const names = (await readdir(fixtures)).filter((name) => name.endsWith(".tar.gz"));
  expect(names.toSorted()).toEqual(versions.map(({ name }) => `${name}.tar.gz`));
});

describe.each(versions)("data of $name", ({ name, openApprovals }) => {
  test("is backed up, restored and read", async () => {
    execFileSync("tar", ["-xzf", join(fixtures, `${name}.tar.gz`), "-C", join(home, "old")]);
    const env = {
      REMORA_DATA: join(home, "old", "data"),
      REMORA_WORKSPACE: join(home, "old", "workspace"),
      REMORA_ENV_FILE: "/dev/null",
    };
    await backupCommand(env, root, join(home, "b.tar.gz"), {});
    await restoreCommand(env, root, join(home, "b.tar.gz"), { into: join(home, "new") });
    const [data, workspace] = [join(home, "new", "data"), join(home, "new", "workspace")];

    const ledger = createSqliteLedger({ path: join(data, "ledger.db") });
    const turns = await ledger.list("turn", {});
    expect(turns.length).toBeGreaterThan(0);
    expect(turns.flatMap(({ body }) => body.messages.map(({ text }) => text))).toContain(
      "remember that the tea is green",
    );
    expect(await ledger.list("approval", { states: ["open"] })).toHaveLength(openApprovals);
    await ledger.close();

    const chat = createChatStore(join(data, "local.db"));
    const shown = chat.page("ann", scope, Number.MAX_SAFE_INTEGER, 50);
    expect(shown.map(({ text }) => text)).toContain("@remora remember that the tea is green");
    expect(chat.waitingCards("ann", 10)).toHaveLength(openApprovals);
    chat.close();

    const knowledge = createKnowledge({ workspace, inOrder: createFileOrder(workspace), redact: (text) => text });
    expect(await knowledge.read(scope, "the tea is green")).toContain("tea is green");
    const audit = await verifyAudit({ folder: join(workspace, "brain", "corpus"), headsFolder: join(data, "audit") });
    expect(audit.problems).toEqual([]);
  });
});
