/**
 * Limits how many isolated processes read files at a time. Tools have a queue of their own, so that one person's many calls
 * don't delay the files of other people's messages.
 */
import PQueue from "p-queue";
import { maxProcesses } from "./limits.ts";

/** Rejects if the signal aborts while the work waits. */
type ProcessQueue = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export function createProcessQueue(): ProcessQueue {
  const queue = new PQueue({ concurrency: maxProcesses });
  return (work, signal) => queue.add(work, { signal });
}

/** Shared by all tools of this process. */
export const inToolQueue: ProcessQueue = createProcessQueue();
