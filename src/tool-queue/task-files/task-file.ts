/**
 * Task files: `brain/motor/tasks/TASK-<turn>.md`, one for each turn with tools, for people to read.
 *
 * A file is written whole at every change, to a temporary file that is then renamed, and says what the journal says.
 * A file that still says RUNNING when the process starts is marked as interrupted, unless its turn goes on.
 */
import { open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createFileWriter } from "../../lib/atomic-write.ts";
import { codeOf, messageOf, RemoraError } from "../../lib/errors.ts";
import { fileNameOf } from "../../lib/file-name.ts";
import type { Log } from "../../lib/log.ts";
import type { Redact } from "../../lib/redact.ts";
import { callsOf, type TaskFiles } from "../../ports/turn.ts";
import { markedInterrupted, placeOfTask, renderTask, saysRunning, type TaskPlace } from "./task-text.ts";

export interface TaskFilesOptions {
  /** Absolute path; the files are in its `brain/motor/tasks/`. */
  workspace: string;
  redact: Redact;
  log: Log;
}

export interface StoredTaskFiles extends TaskFiles {
  /**
   * For the start of the process: RUNNING files become INTERRUPTED, but for those of the turns that go on; what a crash left
   * half-written is removed. Returns how many were marked. Never rejects: a file that can't be read is logged.
   */
  markInterrupted(turnsGoingOn?: () => Promise<ReadonlySet<string>>): Promise<number>;
  /** Removes the files of tasks for which this is true, by whom and where they were for; returns how many. */
  forget(isTheirs: (task: TaskPlace) => boolean): Promise<number>;
}

/** Status, person and conversation stand in the first lines; no more of a file is read to find them. */
const headBytes = 4_096;

export function createTaskFiles({ workspace, redact, log }: TaskFilesOptions): StoredTaskFiles {
  const folder = join(workspace, "brain", "motor", "tasks");
  const files = createFileWriter();
  const nameOf = (turnId: string) => `TASK-${fileNameOf(turnId)}.md`;

  /** Other processes may be at work: their turns are looked up after the file, and the file once more after that. */
  async function mark(name: string, turnsGoingOn: () => Promise<ReadonlySet<string>>): Promise<boolean> {
    const path = join(folder, name);
    if (!saysRunning(await headOf(path))) return false;
    if ([...(await turnsGoingOn())].some((turnId) => nameOf(turnId) === name)) return false;
    const text = await readFile(path, "utf8");
    if (!saysRunning(text.slice(0, headBytes))) return false;
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
          message: `could not be written (${messageOf(thrown)}). Check that the disk has space and that this user may write the workspace.`,
          cause: thrown,
        });
      }
    },
    async markInterrupted(turnsGoingOn = async () => new Set()) {
      let marked = 0;
      for (const name of await namesIn(folder, log)) {
        try {
          if (/^TASK-.+\.md\.\d+$/.test(name)) await unlink(join(folder, name));
          if (/^TASK-.+\.md$/.test(name) && (await mark(name, turnsGoingOn))) marked += 1;
        } catch (thrown) {
          log.warn({ file: join(folder, name), error: messageOf(thrown) }, "a task file could not be looked at");
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
      log.warn({ folder, error: messageOf(thrown) }, "the folder of the task files could not be read");
    }
    return [];
  }
}

async function headOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
