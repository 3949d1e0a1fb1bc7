/** Follows from the events whether each model answered the last time it was asked. */
import { oneLine } from "../lib/text/sanitize.ts";
import type { Events } from "../ports/events.ts";

export interface ModelHealth {
  /** Why the model failed the last time. Undefined if it answered, or was not asked for a while. */
  problemOf(model: string): string | undefined;
  close(): void;
}

/** Later, a failure says nothing about now. */
const maxProblemAgeMs = 15 * 60_000;
const maxMessageCharacters = 200;

export function createModelHealth(events: Events, now: () => number = Date.now): ModelHealth {
  const failures = new Map<string, { at: number; message: string }>();
  const close = events.listen(({ name, at, fields }) => {
    if (name === "llm.response") failures.delete(fields.model);
    if (name === "llm.fallback")
      failures.set(fields.from, { at, message: oneLine(fields.message, maxMessageCharacters) });
  });
  return {
    problemOf(model) {
      const failure = failures.get(model);
      return failure === undefined || now() - failure.at > maxProblemAgeMs ? undefined : failure.message;
    },
    close,
  };
}
