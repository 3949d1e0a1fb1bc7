import type { Json } from "../../ports/message.ts";
import type { DamagedRecords } from "../damaged-records.ts";

/** Keyv fails with one of these for a value that is not JSON, or not Keyv's. */
const unreadable = [SyntaxError, TypeError];

/** Reads a value. A damaged one is noted and counts as missing, so that it can be written again. */
export async function readValue(
  key: string,
  read: () => Promise<Json | undefined>,
  damaged: Pick<DamagedRecords, "note"> | undefined,
): Promise<Json | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (!unreadable.some((type) => thrown instanceof type)) throw thrown;
    damaged?.note("store", key, thrown);
    return undefined;
  }
}
