/** Appends lines to one file per day (UTC), so that old ones can be removed whole. Several processes may share a folder. */
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { toIsoDate } from "./iso-date.ts";

const privateFile = 0o600;

export interface DayFiles {
  write(line: string): void;
  /** A later line opens the file again. */
  close(): void;
}

/** Writes at once, so that a crash loses no line. Drops lines while the disk is full or the folder can't be written. */
export function createDayFiles(folder: string): DayFiles {
  let open: { day: string; descriptor: number } | undefined;

  function close(): void {
    if (open !== undefined) closeSync(open.descriptor);
    open = undefined;
  }

  function today(): number {
    const day = toIsoDate(Date.now());
    if (open?.day === day) return open.descriptor;
    close();
    mkdirSync(folder, { recursive: true });
    open = { day, descriptor: openSync(join(folder, `${day}.jsonl`), "a", privateFile) };
    return open.descriptor;
  }

  return {
    close,
    write(line) {
      try {
        writeSync(today(), line);
      } catch {
        // The same line is on standard error, and a log that fails must not stop the work.
      }
    },
  };
}
