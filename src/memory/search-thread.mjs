/**
 * Starts the search index's thread with the process's compile cache. It is JavaScript so that the cache is active
 * before any types are stripped: loading the type stripper would cost this thread 30 MB.
 */
import { enableCompileCache } from "node:module";
import { workerData } from "node:worker_threads";

if (workerData.cacheFolder !== undefined) enableCompileCache(workerData.cacheFolder);
await import("./search-worker.ts");
