/** Decides which process serves the page's chat. */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../lib/errors.ts";
import type { Leases } from "../../ports/cluster.ts";
import type { Store } from "../../ports/store.ts";

/** Only processes with the same data folder can answer in its chat, so only one folder's page is served at a time. */
export interface PageHome {
  /** Call this repeatedly: a dead process holds the page until its lease expires, and a live one may lose its lease. */
  claim(): Promise<boolean>;
  isHere(): Promise<boolean>;
}

const homeKey = "page-home";

export function createPageHome(options: { data: string; store: Store; leases: Leases }): PageHome {
  const { data, store, leases } = options;
  let wasFree = true;
  const isHere = async () => (await store.get(homeKey)) === (await idOf(data));
  return {
    async claim() {
      const lease = await leases.acquire("page");
      const isFreeAgain = lease !== undefined && !wasFree;
      wasFree = lease !== undefined;
      if (lease === undefined) return false;
      // A live process with another folder may have lost its lease. Let it take the page back first.
      if (isFreeAgain && !(await isHere())) {
        await lease.release();
        return false;
      }
      await store.set(homeKey, await idOf(data));
      return true;
    },
    isHere,
  };
}

async function idOf(data: string): Promise<string> {
  const file = join(data, "page-home");
  try {
    await writeFile(file, randomBytes(12).toString("base64url"), { flag: "wx", mode: 0o600 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  }
  return await readFile(file, "utf8");
}
