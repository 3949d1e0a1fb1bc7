/** Writes and flushes a temporary file, then renames it. Readers see the old or the new content, even after a crash. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatBytes } from "../lib/text/format-bytes.ts";
import { fileProblem, type Place } from "../lib/working-folder.ts";

const maxWrittenBytes = 8 * 1024 * 1024;

export async function replaceFile(place: Place, content: string | Uint8Array, mode: number): Promise<void> {
  const size = typeof content === "string" ? Buffer.byteLength(content) : content.length;
  if (size > maxWrittenBytes) {
    throw fileProblem(place.shown, `would be ${formatBytes(size)}; the limit is ${formatBytes(maxWrittenBytes)}`);
  }
  const temporary = join(dirname(place.path), `.${randomBytes(8).toString("hex")}.tmp`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    try {
      await handle.writeFile(content);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, place.path);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}
