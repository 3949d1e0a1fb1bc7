/** The thread in which large files are checked. */
import type { MessagePort } from "node:worker_threads";
import { quickCheck } from "./quick-check.ts";

/** Called in the thread. */
export function serve(port: MessagePort): void {
  port.on("message", ({ id, request }: { id: number; request: string }) =>
    port.postMessage({ id, answer: quickCheck(request) }),
  );
}
