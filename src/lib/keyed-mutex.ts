/** Runs the work for each key one piece at a time, in the order of the calls. Different keys run in parallel. */
import PQueue from "p-queue";

export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createKeyedMutex(): KeyedMutex {
  const queues = new Map<string, PQueue>();
  return (key, work) => {
    let queue = queues.get(key);
    if (queue === undefined) {
      queue = new PQueue({ concurrency: 1 });
      queue.addEventListener("idle", () => queues.delete(key));
      queues.set(key, queue);
    }
    return queue.add(work);
  };
}
