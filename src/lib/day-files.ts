/** Appends lines to one file per day (UTC), so that old ones can be removed whole. Several processes may share a folder. */
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { toIsoDate } from "./iso-date.ts";

const privateFile = 0o600;

/** Writes at once, so that a crash loses no line. Drops lines while the disk is full or the folder can't be written. */
export function createDayFiles(folder: string): { write(line: string): void } {
  let open: { day: string; descriptor: number } | undefined;

  function today(): number {
    const day = toIsoDate(Date.now());
    if (open?.day === day) return open.descriptor;
    if (open !== undefined) closeSync(open.descriptor);
    open = undefined;
    mkdirSync(folder, { recursive: true });
    open = { day, descriptor: openSync(join(folder, `${day}.jsonl`), "a", privateFile) };
    return open.descriptor;
  }

  return {
    write(line) {
      try {
        writeSync(today(), line);
      } catch {
        // The same line is on standard error, and a log that fails must not stop the work.
      }
    },
  };
}
