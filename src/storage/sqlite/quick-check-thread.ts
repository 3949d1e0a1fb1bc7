/** The thread in which large files are checked. */
import { parentPort } from "node:worker_threads";
import { quickCheck } from "./quick-check.ts";

parentPort?.on("message", ({ id, request }: { id: number; request: string }) =>
  parentPort?.postMessage({ id, answer: quickCheck(request) }),
);
