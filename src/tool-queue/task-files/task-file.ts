/**
 * Task files for people: `brain/motor/tasks/TASK-<turn>.md`, one for each turn with tools, written from its journal. A
 * file that still says RUNNING at startup is marked as interrupted, unless its turn continues.
 */
import { open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createFileWriter, isTemporaryName } from "../../lib/atomic-write.ts";
import { codeOf, messageOf, RemoraError } from "../../lib/errors.ts";
import { fileNameOf } from "../../lib/file-name.ts";
import type { Log } from "../../lib/log.ts";
import type { Redact } from "../../lib/redact.ts";
import { callsOf, type TaskFiles } from "../../ports/turn.ts";
import { markedInterrupted, placeOfTask, renderTask, saysRunning, type TaskPlace } from "./task-text.ts";

export interface TaskFilesOptions {
  workspace: string;
  redact: Redact;
  log: Log;
}

export interface StoredTaskFiles extends TaskFiles {
  /**
   * Call at startup. Marks RUNNING files as interrupted, except for turns that continue, and returns how many. Removes
   * temporary files left behind by a crash. Never rejects, but logs a file that can't be read.
   */
  markInterrupted(turnsGoingOn?: () => Promise<ReadonlySet<string>>): Promise<number>;
  forget(isTheirs: (task: TaskPlace) => boolean): Promise<number>;
}

/** Status, person and conversation are in the first lines, so only this much of a file is read. */
const maxHeadBytes = 4_096;

export function createTaskFiles({ workspace, redact, log }: TaskFilesOptions): StoredTaskFiles {
  const folder = join(workspace, "brain", "motor", "tasks");
  const files = createFileWriter();
  const nameOf = (turnId: string) => `TASK-${fileNameOf(turnId)}.md`;

  /** Other processes may be running, so this reads the file, looks up which turns continue, and rereads the file. */
  async function mark(name: string, turnsGoingOn: () => Promise<ReadonlySet<string>>): Promise<boolean> {
    const path = join(folder, name);
    if (!saysRunning(await headOf(path))) return false;
    if ([...(await turnsGoingOn())].some((turnId) => nameOf(turnId) === name)) return false;
    const text = await readFile(path, "utf8");
    if (!saysRunning(text.slice(0, maxHeadBytes))) return false;
    await files.write(path, markedInterrupted(text));
    return true;
  }

  return {
    async save(turn, state) {
      if (callsOf(turn).length === 0) return;
      const path = join(folder, nameOf(turn.id));
      try {
        await files.write(path, renderTask(turn, state, redact));
      } catch (thrown) {
        throw new RemoraError({
          code: "tasks.not-written",
          place: path,
          message: `could not be written (${messageOf(thrown)}). Check that the disk has space and that this user may write to the workspace.`,
          cause: thrown,
        });
      }
    },
    async markInterrupted(turnsGoingOn = async () => new Set()) {
      let marked = 0;
      for (const name of await namesIn(folder, log)) {
        try {
          if (name.startsWith("TASK-") && isTemporaryName(name)) await unlink(join(folder, name));
          if (/^TASK-.+\.md$/.test(name) && (await mark(name, turnsGoingOn))) marked += 1;
        } catch (thrown) {
          log.warn({ file: join(folder, name), error: messageOf(thrown) }, "could not read a task file");
        }
      }
      return marked;
    },
    async forget(isTheirs) {
      let removed = 0;
      for (const name of await namesIn(folder, log)) {
        if (!/^TASK-.+\.md$/.test(name)) continue;
        const place = placeOfTask(await headOf(join(folder, name)));
        if (place === undefined || !isTheirs(place)) continue;
        await unlink(join(folder, name));
        removed += 1;
      }
      return removed;
    },
  };
}

async function namesIn(folder: string, log: Log): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") {
      log.warn({ folder, error: messageOf(thrown) }, "could not read the folder of task files");
    }
    return [];
  }
}

async function headOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxHeadBytes), 0, maxHeadBytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
