import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { explainCommand } from "../../src/cli/explain.ts";
import { snapshotFolder } from "../../src/context/snapshot.ts";

const root = mkdtempSync(join(tmpdir(), "remora-explain-"));
const folder = join(root, "workspace", snapshotFolder);

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

test("explain lists the turns that have snapshots, newest first, and prints one by its id or as the newest", async () => {
  let printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += text;
    return true;
  });
  const explain = async (turn?: string): Promise<string> => {
    printed = "";
    await explainCommand({ REMORA_WORKSPACE: join(root, "workspace") }, root, turn);
    return printed;
  };
  expect(await explain()).toBe("there are no snapshots yet\n");
  await expect(explain("newest")).rejects.toThrow("there are no snapshots yet");
  mkdirSync(folder, { recursive: true });
  for (const name of ["20261121T080000000Z-t1-1", "20261121T080100000Z-t2-1", "20261121T080200000Z-t2-2"])
    writeFileSync(join(folder, `${name}.md`), `words of ${name}`);
  expect(await explain()).toBe("Newest first:\nt2\nt1\n");
  expect(await explain("newest")).toMatch(/words of \S+-t2-1[\s\S]+words of \S+-t2-2/);
  expect(await explain("t1")).not.toContain("t2");
  await expect(explain("t3")).rejects.toThrow(
    '"t3" does not match exactly one turn with snapshots; newest last: t1, t2',
  );
});
