/**
 * A process of its own with a queue on BullMQ, for tests that kill, freeze or block it. It is told what to do, and says what
 * happens, over the channel that Node gives to a child; once it has closed a queue, it can open another test's.
 *
 * Its tools write into the file that the call names: `begin` when they run, and how they end. `block` keeps the event loop
 * for itself until a file is there or a time is over, `hang` ends when it is told to, `flaky` fails in a passing way as long as it has begun once only.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { type AbortCause, abortCauseOf, TurnAbort } from "../../src/lib/abort.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import type { ToolAttempt, ToolJob, ToolResult } from "../../src/ports/tool.ts";
import { type OpenedQueue, type OpenSettings, openQueue } from "./bull-world.ts";

export type Order =
  | { type: "open"; settings: OpenSettings }
  | { type: "run"; job: ToolJob }
  | { type: "abort"; jobId: string; cause: AbortCause }
  | { type: "close"; isLast: boolean };

export type Report =
  | { type: "ready" }
  | { type: "closed" }
  | { type: "result"; result: ToolResult }
  | { type: "event"; event: RemoraEvent };

let opened: OpenedQueue | undefined;
const aborts = new Map<string, AbortController>();

async function runTool(name: string, { file, ms = 0, until }: ToolJob["call"]["input"], signal: AbortSignal) {
  const path = String(file ?? "/dev/null");
  const write = (line: string) => appendFileSync(path, `${line}\n`);
  write("begin");
  const end = (isOk: boolean, text: string): ToolAttempt => {
    write(text);
    return { isOk, text, files: [], isRetryable: !isOk };
  };
  switch (name) {
    case "block": {
      const began = Date.now();
      const isOver = () => (until === undefined ? Date.now() - began >= Number(ms) : existsSync(String(until)));
      while (!isOver()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      return end(true, "blocked");
    }
    case "hang":
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return end(false, abortCauseOf(signal));
    case "flaky":
      await wait(Number(ms));
      return readFileSync(path, "utf8") === "begin\n" ? end(false, "503") : end(true, "written");
    default:
      await wait(Number(ms));
      return end(true, "written");
  }
}

function report(what: Report): void {
  // Gone when the test has ended.
  if (process.connected) process.send?.(what);
}

async function obey(order: Order): Promise<void> {
  switch (order.type) {
    case "open":
      opened = await openQueue({
        ...order.settings,
        run: ({ name, input }, _scope, signal) => runTool(name, input, signal),
      });
      opened.listen((event) => report({ type: "event", event }));
      return report({ type: "ready" });
    case "run": {
      const abort = new AbortController();
      aborts.set(order.job.id, abort);
      const result = await opened?.queue.run(order.job, abort.signal);
      return result === undefined ? undefined : report({ type: "result", result });
    }
    case "abort":
      return aborts.get(order.jobId)?.abort(new TurnAbort(order.cause));
    case "close":
      await opened?.close();
      if (!order.isLast) return report({ type: "closed" });
      // What keeps the process alive from here on is a handle that was left.
      return process.disconnect();
    default:
      return order satisfies never;
  }
}

process.on("message", (order: Order) => void obey(order));
