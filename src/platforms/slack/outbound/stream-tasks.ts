/** A reply's progress as Slack's plan with its tasks, which a stream shows while the turn works. */
import { type Progress, type ProgressState, progressLine } from "../../../ports/progress.ts";
import { beginningOf, wordJoiner } from "./safe-text.ts";

export type TaskChunk =
  | { type: "plan_update"; title: string }
  | { type: "task_update"; id: string; title: string; status: string; details?: string };

const statuses: Record<ProgressState, string> = {
  running: "in_progress",
  done: "complete",
  failed: "error",
  waiting: "pending",
};
const maxTitleLength = 150;
/** Documented for details: https://docs.slack.dev/reference/methods/chat.appendStream */
const maxDetailsLength = 256;

/** Returns what has changed since the chunks in `sent`, by key, and no more than one chunk for each task. */
export function taskChunks(progress: Progress, sent: ReadonlyMap<string, TaskChunk>, now: number): TaskChunk[] {
  if (progress.tasks.length === 0) return [];
  const plan: TaskChunk = { type: "plan_update", title: safe(progressLine(progress, now), maxTitleLength) };
  const tasks = progress.tasks.map(({ id, title, state, detail }): TaskChunk => {
    const details = detail === undefined ? {} : { details: safe(detail, maxDetailsLength) };
    return { type: "task_update", id, title: safe(title, maxTitleLength), status: statuses[state], ...details };
  });
  return [plan, ...tasks].filter((chunk) => JSON.stringify(chunk) !== JSON.stringify(sent.get(chunkKey(chunk))));
}

export function chunkKey(chunk: TaskChunk): string {
  return chunk.type === "plan_update" ? "plan" : `task:${chunk.id}`;
}

/** How much of a stream the tasks take. Slack counts details twice (measured, not documented). */
export function tasksBytes(sent: ReadonlyMap<string, TaskChunk>): number {
  const bytes = (chunk: TaskChunk) =>
    Buffer.byteLength(chunk.title) + 2 * Buffer.byteLength("details" in chunk ? (chunk.details ?? "") : "");
  return [...sent.values()].reduce((sum, chunk) => sum + bytes(chunk), 0);
}

function safe(text: string, maxLength: number): string {
  return beginningOf(text.replaceAll("<", `<${wordJoiner}`), maxLength);
}
