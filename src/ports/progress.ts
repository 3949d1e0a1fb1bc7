/**
 * What a turn is doing, for the people who wait for its answer. Built from the turn's record, so that another process
 * shows the same after a crash. All texts are plain text without line breaks: a platform escapes them before it shows them.
 */

export type ProgressState = "running" | "done" | "failed" | "waiting";

export interface ProgressTask {
  /** Unique in the turn. The same id later means the same task. */
  id: string;
  /** A short phrase: "Reading notes.md" while it runs, "Read notes.md" afterwards. */
  title: string;
  state: ProgressState;
  detail?: string;
}

export interface Progress {
  /** What was done and is being done, the newest last: "Read 3 files · running tests". Empty if there is nothing to say. */
  headline: string;
  /** What is being done now: "Running tests". Reads well after "is", in lower case. Absent while the model writes. */
  current?: string;
  /** When `current` began. `progressLine` adds the elapsed time. */
  since?: number;
  /** The turn has not started: a limit holds it. */
  isQueued?: boolean;
  /** Oldest first, at most `maxProgressTasks`. */
  tasks: ProgressTask[];
}

export const maxHeadlineLength = 200;
export const maxProgressTasks = 16;
/** Work that takes less time ends before anybody wonders how long it has taken. */
export const minElapsedMs = 5_000;

export const noProgress: Progress = { headline: "", tasks: [] };

/** The headline with the time that the current work has taken: "Read 3 files · running tests · 12 s". */
export function progressLine(progress: Progress, now: number): string {
  return progress.headline + elapsed(progress, now);
}

export function currentLine(progress: Progress, now: number): string {
  return progress.current === undefined ? "" : progress.current + elapsed(progress, now);
}

function elapsed({ headline, since }: Progress, now: number): string {
  if (headline === "" || since === undefined || now - since < minElapsedMs) return "";
  return ` · ${durationText(now - since)}`;
}

/** "12 s", "2 min 5 s", "1 h 4 min". */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
