/**
 * Notices calls that bring a turn no further. Small models make the same call again and again, alternate between two, or keep
 * calling tools that don't exist. Each request can take them a minute.
 *
 *   a call counts as repeated   if it had the same result before, and nothing has changed since
 *   a call that only reads      does not run a third time: the model is told to use what it has
 *   a turn is stuck             if all calls of a step are the third of their kind, or three steps had only invalid calls.
 *                               The model then answers without tools.
 *
 * What was refused by people or rules has its own limit (`turns.refusals`).
 */
import type { ToolSpec } from "../../ports/tool.ts";
import type { CallRecord, StepRecord, TurnRecord } from "../../ports/turn.ts";

/** Two could be a second look. */
const maxTries = 3;

export const stuckNote =
  "Your last calls brought nothing new, so no more tools now: answer in text with what you have, and say what is left to do.";
export const stuckText = "My last steps brought nothing new";

export const repeatedText =
  "Not run: you have made this call twice in this turn, with the same result, and nothing has changed since. Use that result.";

interface Tries {
  outcome: string;
  count: number;
}

export function isStuck(turn: TurnRecord, specs: readonly ToolSpec[]): boolean {
  return readSteps(turn.steps, specs).last >= maxTries;
}

/** `step` is the turn's last. */
export function isRepeated(
  turn: TurnRecord,
  step: StepRecord,
  record: CallRecord,
  specs: readonly ToolSpec[],
): boolean {
  const spec = specs.find(({ name }) => name === record.raw.name);
  if (spec?.isReadOnly !== true) return false;
  const before = turn.steps.slice(0, turn.steps.indexOf(step));
  const { tries } = readSteps(before, specs, turn.messages.length);
  return (tries.get(keyOf(record))?.count ?? 0) >= maxTries - 1;
}

/** `last`: how often the calls of the last step with calls have been tried, at least. `tries`: of each call, since the last change. */
function readSteps(
  steps: readonly StepRecord[],
  specs: readonly ToolSpec[],
  seenNow?: number,
): { tries: ReadonlyMap<string, Tries>; last: number } {
  const tries = new Map<string, Tries>();
  const known = new Set<string>();
  let [last, invalidSteps, seen] = [0, 0, steps[0]?.seenMessages];
  for (const { calls, seenMessages } of steps) {
    if (calls.length === 0) continue;
    // What a person says in the meantime may ask for a second look.
    if (seenMessages !== seen) tries.clear();
    seen = seenMessages;
    invalidSteps = calls.every(({ result }) => result?.status === "invalid") ? invalidSteps + 1 : 0;
    const counts = calls.map((record) => {
      const key = keyOf(record);
      const { status = "interrupted", text = "" } = record.result ?? {};
      if (status === "denied" || status === "blocked") return 0;
      const before = tries.get(key);
      if (status === "invalid") {
        const count = (before?.count ?? 0) + 1;
        tries.set(key, { outcome: before?.outcome ?? status, count });
        return Math.max(invalidSteps, count);
      }
      const outcome = `${status} ${text}`;
      const result = `${key} ${outcome}`;
      if (hasChanged(record, specs, known.has(result))) tries.clear();
      known.add(result);
      const count = tries.get(key)?.outcome === outcome ? (before?.count ?? 0) + 1 : 1;
      tries.set(key, { outcome, count });
      return count;
    });
    last = Math.min(...counts);
  }
  if (seenNow !== undefined && seenNow !== seen) tries.clear();
  return { tries, last };
}

/** In doubt it has, so that nothing that people asked for is cut short. */
function hasChanged({ raw, isContained, result }: CallRecord, specs: readonly ToolSpec[], isKnown: boolean): boolean {
  const spec = specs.find(({ name }) => name === raw.name);
  if (spec?.isReadOnly === true) return false;
  const isSameAgain = isContained === true || spec?.isIdempotent === true || result?.status === "failed";
  return !(isKnown && isSameAgain);
}

function keyOf({ raw, call }: CallRecord): string {
  return `${raw.name} ${call === undefined ? `(${raw.inputJson})` : JSON.stringify(call.input)}`;
}
