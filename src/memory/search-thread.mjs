/**
 * Starts the thread of the search index with the compile cache of the process. It is JavaScript so that the cache is
 * active before any types are stripped: loading the type stripper would cost this thread 30 MB.
 */
import { enableCompileCache } from "node:module";
import { workerData } from "node:worker_threads";

if (workerData.cacheFolder !== undefined) enableCompileCache(workerData.cacheFolder);
await import("./search-worker.ts");
