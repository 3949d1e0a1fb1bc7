/** The chat log's thread. A long clean-up pauses after each part to handle waiting requests. */
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";
import type { ThreadReply } from "../lib/worker-thread.ts";
import type { ChatLogChange, LoggedMessage } from "../ports/chat-log.ts";
import { createMessageIndex, type LogQuery, type MessageIndex, type UnnamedPerson } from "./message-index.ts";

export type LogRequest =
  | { type: "apply"; changes: ChatLogChange[] }
  | { type: "find"; query: LogQuery }
  | { type: "of-person"; platform: string; userId: string }
  | { type: "prune"; olderThan: number; maxBytes: number }
  | { type: "purge" }
  | { type: "close" };

export type LogAnswer =
  | { type: "unnamed"; people: UnnamedPerson[] }
  | { type: "messages"; messages: LoggedMessage[] }
  | { type: "done" };

export interface LogWorkerData {
  file: string;
}

/** Called in the thread. */
export function serve(port: MessagePort, { file }: LogWorkerData): void {
  const reply = (message: ThreadReply<LogAnswer>) => port.postMessage(message);
  let index: MessageIndex | undefined;

  port.on("message", ({ id, request }: { id: number; request: LogRequest }) => {
    void (async () => {
      try {
        index ??= createMessageIndex(file, (problem) => reply({ id: undefined, problem }));
        reply({ id, answer: await answer(index, request) });
      } catch (thrown) {
        reply({ id, error: messageOf(thrown) });
      }
    })();
  });

  async function answer(open: MessageIndex, request: LogRequest): Promise<LogAnswer> {
    switch (request.type) {
      case "apply":
        return { type: "unnamed", people: open.apply(request.changes) };
      case "find":
        return { type: "messages", messages: open.find(request.query) };
      case "of-person":
        return { type: "messages", messages: open.ofPerson(request.platform, request.userId) };
      case "prune":
        for (const _part of open.prune(request.olderThan, request.maxBytes))
          await new Promise((resolve) => setImmediate(resolve));
        return { type: "done" };
      case "purge":
        open.purge();
        return { type: "done" };
      case "close":
        open.close();
        return { type: "done" };
      default:
        return request satisfies never;
    }
  }
}
