/**
 * Starts a thread (worker-thread.ts) with the compile cache of the process. Written in JavaScript so that the cache is
 * active before any TypeScript loads: the type stripper would cost the thread 30 MB.
 */
import { enableCompileCache } from "node:module";
import { parentPort, workerData } from "node:worker_threads";

if (workerData.cacheFolder !== undefined) enableCompileCache(workerData.cacheFolder);
await import("./own-typescript.mjs");
parentPort.on("message", async ({ module, port, options }) => {
  const { serve } = await import(module);
  serve(port, options);
});
