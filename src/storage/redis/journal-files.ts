/**
 * The bodies of ended entries: one file per day in the workspace, one line of JSON for each entry. Several processes may
 * write to one folder, so a file has only one writer, which created it: `2026-11-22.jsonl`, or after a restart
 * `2026-11-22.2.jsonl`. If a crash comes before the entry is a stub, the entry is written again later, and counts there.
 */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { codeOf, RemoraError } from "../../lib/errors.ts";
import { toIsoDate } from "../../lib/iso-date.ts";
import { parseJson } from "../../lib/json.ts";
import { type LineFile, openLineFile } from "../../lib/line-file.ts";

export interface JournalFiles {
  /** Resolves to the place of each line, in the same order, once all lines are on disk. One call at a time. */
  append(lines: JournalLine[]): Promise<string[]>;
  /** Rejects with the code `missingJournal` if the line is not there. */
  read(place: string, kind: string, id: string): Promise<object>;
  close(): Promise<void>;
}

export const missingJournal = "storage.journal-missing";

const lineSchema = z.object({ kind: z.string(), id: z.string(), body: z.record(z.string(), z.unknown()) });
export type JournalLine = z.infer<typeof lineSchema> & Record<string, unknown>;

const placePattern = /^([\d.-]+) (\d+) (\d+)$/;

export function createJournalFiles(folder: string, now: () => number = Date.now): JournalFiles {
  let current: { day: string; file: LineFile } | undefined;

  async function fileOf(day: string): Promise<LineFile> {
    if (current?.day === day && (await current.file.isThere())) return current.file;
    await current?.file.close();
    current = undefined;
    for (let number = 1; ; number += 1) {
      const name = `${day}${number === 1 ? "" : `.${number}`}.jsonl`;
      const file = await openLineFile(folder, name, { isNew: true }).catch((thrown: unknown) => {
        if (codeOf(thrown) !== "EEXIST") throw thrown;
      });
      if (file === undefined) continue;
      current = { day, file };
      return file;
    }
  }

  return {
    async append(lines) {
      if (lines.length === 0) return [];
      const file = await fileOf(toIsoDate(now()));
      const texts = lines.map((line) => `${JSON.stringify(line)}\n`);
      let at = await file.append(texts.join(""), true);
      return texts.map((text) => {
        const bytes = Buffer.byteLength(text);
        at += bytes;
        return `${file.name.slice(0, -".jsonl".length)} ${at - bytes} ${bytes}`;
      });
    },
    async read(place, kind, id) {
      const [, name = "", at, bytes] = placePattern.exec(place) ?? [];
      const text = await readPart(join(folder, `${name}.jsonl`), Number(at), Number(bytes)).catch((thrown: unknown) => {
        if (codeOf(thrown) !== "ENOENT") throw thrown;
      });
      const line = lineSchema.safeParse(parseJson(text ?? "")).data;
      if (line?.kind === kind && line.id === id) return line.body;
      throw new RemoraError({
        code: missingJournal,
        place: `journal ${place}`,
        message: `does not have ${kind} ${id}. Give all processes the same workspace, or restore its folder journals from a backup.`,
      });
    },
    async close() {
      await current?.file.close();
      current = undefined;
    },
  };
}

async function readPart(path: string, at: number, bytes: number): Promise<string> {
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}
