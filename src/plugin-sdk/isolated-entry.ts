/** The child side of isolated-process.ts: runs a module in its own process. */
import { unlinkSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { messageOf } from "../lib/errors.ts";

export type ChildReply = { answer: unknown } | { error: string };

/**
 * Answers the first request with the result of `work`, or with the message of its error. Then ends the process. Must be called
 * once everything is imported.
 */
export function answerOnce(work: (request: unknown) => unknown): void {
  leaveCompileCache();
  process.once("message", async (message) => {
    const reply = await replyOf(work, (message as { request: unknown }).request);
    process.send?.(reply, () => process.exit());
  });
  process.once("disconnect", () => process.exit());
}

/** From here on, nothing can be written. */
function leaveCompileCache(): void {
  const link = process.env.NODE_COMPILE_CACHE;
  if (link === undefined || process.permission === undefined) return;
  flushCompileCache();
  unlinkSync(link);
  // Node's types lack it, and so do early versions of Node 24, where the process could make a folder in the link's place.
  (process.permission as { drop?: (scope: string) => void }).drop?.("fs.write");
}

async function replyOf(work: (request: unknown) => unknown, request: unknown): Promise<ChildReply> {
  try {
    return { answer: await work(request) };
  } catch (thrown) {
    return { error: messageOf(thrown) };
  }
}
