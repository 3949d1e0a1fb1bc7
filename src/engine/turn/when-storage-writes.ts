/** Repeats a write that storage refuses for a while, so that what a model or a tool has said meanwhile is not lost. */
import { pause } from "../../lib/backoff.ts";
import { codeOf } from "../../lib/errors.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";

const firstWaitMs = 50;
const maxWaitMs = 5_000;

/**
 * Calls `onRefused` before each wait. Rejects with the last error once the signal has aborted. An unreachable storage
 * rejects at once: it was waited for, and another process may reach it.
 */
export async function whenStorageWrites<T>(
  write: () => Promise<T>,
  onRefused: (thrown: unknown) => void,
  signal: AbortSignal,
): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
    try {
      return await write();
    } catch (thrown) {
      const mayPass = isTransientStorageError(thrown) && codeOf(thrown) !== "storage.unreachable";
      if (!mayPass || signal.aborted) throw thrown;
      onRefused(thrown);
      await pause(waitMs, signal);
    }
  }
}
