import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPageHome, type PageHome } from "../../../src/platforms/local/page-home.ts";
import type { Leases } from "../../../src/ports/cluster.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createKeyvStore } from "../../../src/storage/keyv/store.ts";

let folder: string;
let store: Store;
let holder: string | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-page-"));
  store = createKeyvStore({ path: join(folder, "store.db") });
  holder = undefined;
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function release(): Promise<void> {
  holder = undefined;
}

/** A process with its own data folder; the lease is in `holder`, and whoever has it loses it when that is cleared. */
async function processWith(data: string): Promise<PageHome> {
  const leases: Leases = {
    async acquire() {
      if (holder !== undefined) return undefined;
      holder = data;
      return { signal: new AbortController().signal, release };
    },
    close: async () => {},
  };
  return createPageHome({ data: await mkdtemp(join(folder, data)), store, leases });
}

test("a process that lost the page's lease and lives has it back before one with another page gets it", async () => {
  const [serving, waiting] = [await processWith("serving"), await processWith("waiting")];
  expect([await serving.claim(), await waiting.claim()]).toEqual([true, false]);
  holder = undefined;
  expect(await waiting.claim()).toBe(false);
  expect(await serving.claim()).toBe(true);
  expect(await waiting.claim()).toBe(false);
  expect([await serving.isHere(), await waiting.isHere()]).toEqual([true, false]);
});

test("one with another page gets it when the lease stays free", async () => {
  const [gone, waiting] = [await processWith("gone"), await processWith("waiting")];
  expect([await gone.claim(), await waiting.claim()]).toEqual([true, false]);
  holder = undefined;
  expect([await waiting.claim(), await waiting.claim()]).toEqual([false, true]);
  expect(await waiting.isHere()).toBe(true);
});
