/**
 * The progress as one line in a message. While the message has no text, the line waits a little: until then, an indicator
 * such as typing is enough, and many answers come before it would be read.
 */
import { type Progress, progressLine } from "../../ports/progress.ts";

export interface ProgressLine {
  /** The line to show now; empty if there is none. */
  of(progress: Progress, hasText: boolean): string;
  /** Call this when a new message begins. */
  reset(): void;
}

/** These are a little less than the times after which the progress is shown again. */
const minWorkMs = 1_900;
/** Most answers need a few seconds of thinking. */
const minThinkingMs = 9_900;

export function createProgressLine(): ProgressLine {
  let begunAt: number | undefined;
  return {
    of(progress, hasText) {
      begunAt ??= Math.min(Date.now(), progress.since ?? Number.POSITIVE_INFINITY);
      const minMs = progress.tasks.length === 0 ? minThinkingMs : minWorkMs;
      const isDue = hasText || progress.isQueued === true || Date.now() - begunAt >= minMs;
      return isDue ? progressLine(progress, Date.now()) : "";
    },
    reset() {
      begunAt = undefined;
    },
  };
}
