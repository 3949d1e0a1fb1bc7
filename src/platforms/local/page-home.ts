/** Which process serves the page's chat. */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../lib/errors.ts";
import type { Leases } from "../../ports/cluster.ts";
import type { Store } from "../../ports/store.ts";

/**
 * The page's chat is a file in the data folder, so that of several processes only those with the same folder can answer on it,
 * and only one folder's page is served at a time.
 */
export interface PageHome {
  /**
   * True when the page has just become this process's to serve; then others with another folder are not to. Asked again and
   * again: a process that died holds the page until its lease is over, and one that lives may lose its lease.
   */
  claim(): Promise<boolean>;
  /** Whether what this process writes on the page is seen. */
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
      // Whoever served it from another folder, lost its lease and lives has it back by the next time.
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

/** Of the data folder; made by the first process that asks. */
async function idOf(data: string): Promise<string> {
  const file = join(data, "page-home");
  try {
    await writeFile(file, randomBytes(12).toString("base64url"), { flag: "wx", mode: 0o600 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  }
  return await readFile(file, "utf8");
}
