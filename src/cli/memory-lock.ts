/**
 * Lets a command write memory. With Redis, each file is locked as the agent's processes lock it. Without Redis, they have no
 * such locks, so the command takes the data folder's lock, and no agent can run meanwhile.
 */
import { redisSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { codeOf, RemoraError } from "../lib/errors.ts";
import { createFileOrder, type FileOrder } from "../lib/file-order.ts";
import { silentLog } from "../lib/log.ts";
import { type DataLock, lockData } from "../storage/sqlite/data-lock.ts";

export interface MemoryLock {
  inOrder: FileOrder;
  close(): Promise<void>;
}

/** Rejects with a RemoraError if an agent without Redis runs. */
export async function lockMemory(settings: Settings): Promise<MemoryLock> {
  const { data, workspace } = settings;
  const redis = redisSettings(settings);
  if (redis === null) {
    const lock = lockWhole(data);
    return { inOrder: createFileOrder(workspace), close: async () => lock.release() };
  }
  const { openSharedLocks } = await import("../storage/redis/open-redis.ts");
  const { withLock, close } = openSharedLocks(redis, silentLog);
  return { inOrder: createFileOrder(workspace, withLock), close };
}

function lockWhole(data: string): DataLock {
  try {
    return lockData(data);
  } catch (thrown) {
    if (codeOf(thrown) !== "start.data-in-use") throw thrown;
    throw new RemoraError({
      code: "cli.agent-runs",
      place: `data ${data}`,
      message: "Remora is running, and both would write its memory. Stop it, repeat this command, and start it again",
      cause: thrown,
    });
  }
}
