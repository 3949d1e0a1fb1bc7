import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../../src/ports/store.ts";
import { createKeyvStore } from "../../src/storage/keyv/store.ts";
import { storeConformance } from "../conformance/store.ts";

storeConformance("the Keyv store on SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "remora-store-"));
  const opened: Store[] = [];
  return {
    async open() {
      const store = createKeyvStore({ path: join(folder, "deeper", "store.db") });
      opened.push(store);
      return store;
    },
    async dispose() {
      await Promise.all(opened.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
});

describe("the Keyv store on SQLite", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "remora-store-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("works in memory", async () => {
    const store = createKeyvStore({ path: ":memory:" });
    await store.set("a", 1);
    expect(await store.get("a")).toBe(1);
    await store.close();
  });

  test("names a damaged file and leaves it untouched", async () => {
    const path = join(folder, "store.db");
    await writeFile(path, "this is no database, and long enough to be looked at");
    const store = createKeyvStore({ path });
    await expect(store.get("a")).rejects.toMatchObject({
      code: "storage.corrupt",
      message: expect.stringContaining(path),
    });
    await expect(store.set("a", 1)).rejects.toMatchObject({ code: "storage.corrupt" });
    await store.close();
    expect(await readFile(path, "utf8")).toContain("this is no database");
  });

  test("a value that can't be read is named, counts as missing, and can be replaced", async () => {
    const path = join(folder, "store.db");
    const noted: string[] = [];
    const store = createKeyvStore({ path, damaged: { note: (kind, id) => noted.push(`${kind} ${id}`) } });
    for (const text of ["{", "not json", "null", "[]", "7", '"text"', ""]) {
      await store.set("a", 1);
      const raw = new DatabaseSync(path);
      raw.prepare("UPDATE keyv SET value = ?").run(text);
      raw.close();
      expect(await store.get("a")).toBeUndefined();
    }
    expect(new Set(noted)).toEqual(new Set(["store a"]));
    await store.set("a", 2);
    expect(await store.get("a")).toBe(2);
    await store.close();
  });

  test("tries again after a file that could not be used has been put right", async () => {
    const path = join(folder, "store.db");
    await writeFile(path, "this is no database, and long enough to be looked at");
    const store = createKeyvStore({ path });
    await expect(store.get("a")).rejects.toThrow();
    await rm(path);
    await store.set("a", 1);
    expect(await store.get("a")).toBe(1);
    await store.close();
  });

  test("a write that fails rejects instead of passing for a success", async () => {
    const path = join(folder, "store.db");
    const store = createKeyvStore({ path });
    await store.set("a", 1);
    const other = new DatabaseSync(path);
    other.exec("DROP TABLE keyv");
    other.close();
    await expect(store.set("a", 2)).rejects.toMatchObject({ code: "storage.failed" });
    await expect(store.get("a")).rejects.toMatchObject({ code: "storage.failed" });
    await store.close();
  });

  test("what has expired and is never read again leaves the file", async () => {
    const path = join(folder, "store.db");
    const first = createKeyvStore({ path });
    // The first value with an expiry sweeps, and on a busy machine the second one has expired by then.
    await first.set("any", 1, 60_000);
    await first.set("forgotten", 1, 1);
    const rows = () => {
      const database = new DatabaseSync(path, { readOnly: true });
      const count = database.prepare("SELECT count(*) AS count FROM keyv WHERE expires < ?").get(Date.now());
      database.close();
      return count?.count;
    };
    const raw = new DatabaseSync(path);
    raw.exec("INSERT INTO keyv (key, value, namespace, expires) VALUES ('never-read', '{}', '', 1)");
    raw.close();
    await first.close();
    await expect.poll(rows).toBe(2);
    const second = createKeyvStore({ path });
    await second.set("any", 1, 60_000);
    await second.close();
    expect(rows()).toBe(0);
  });
});
