import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { useWriteAheadLog } from "../../src/lib/sqlite.ts";

const source = new URL("../../src/lib/sqlite.ts", import.meta.url).href;
const [openers, files] = [4, 40];
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-log-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Opens file after file, each when all the others are about to. Says how many were refused. */
const opener = `
  const { DatabaseSync } = await import("node:sqlite");
  const { workerData, parentPort } = await import("node:worker_threads");
  const { useWriteAheadLog } = await import(workerData.source);
  const { folder, openers, files } = workerData;
  const [arrived, begun] = [0, 1];
  const line = new Int32Array(workerData.shared);
  const refused = [];
  for (let file = 1; file <= files; file++) {
    if (Atomics.add(line, arrived, 1) === openers * file - 1) Atomics.store(line, begun, file);
    while (Atomics.load(line, begun) < file);
    const database = new DatabaseSync(folder + "/" + file + ".db", { timeout: 5000 });
    try {
      useWriteAheadLog(database);
    } catch (thrown) {
      refused.push(String(thrown));
    }
    database.close();
  }
  parentPort.postMessage(refused);
`;

test("several that open a new file at the same instant all get it", async () => {
  const workerData = { source, folder, openers, files, shared: new SharedArrayBuffer(8) };
  const workers = Array.from({ length: openers }, () => {
    const code = new URL(`data:text/javascript,${encodeURIComponent(opener)}`);
    return new Worker(code, { workerData });
  });
  const refused = await Promise.all(workers.map(async (worker) => (await once(worker, "message")) as [string[]]));
  expect(refused.flat(2)).toEqual([]);
});

test("what is no database is refused, and left as it is", async () => {
  const path = join(folder, "notes.txt");
  await writeFile(path, "no database at all, but long enough to be looked at as one".repeat(40));
  const database = new DatabaseSync(path);
  expect(() => useWriteAheadLog(database)).toThrow("not a database");
  database.close();
});
