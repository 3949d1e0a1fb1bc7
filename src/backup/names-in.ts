import { readdir } from "node:fs/promises";
import { ifMissing } from "../lib/errors.ts";

/** A missing folder has no names. */
export async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(ifMissing([]));
}
