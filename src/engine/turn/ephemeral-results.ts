/** Results whose text may not be stored (ports/ephemeral.ts) last as long as their turn, in memory. */
import { resultKey } from "../../ports/ephemeral.ts";
import { jobIdOf } from "../../ports/tool.ts";
import { callsOf, type StepRecord } from "../../ports/turn.ts";
import type { TurnRun } from "./turn-store.ts";

/**
 * Takes back what a step's calls have found, if no process has the words any more, so that the calls run again: what only
 * reads may. The model has not read these results yet.
 */
export function takeBackLost({ turn, deps }: TurnRun, step: StepRecord): void {
  const reading = new Set(
    deps.toolbox.specs(turn.conversationId).flatMap((spec) => (spec.isReadOnly ? spec.name : [])),
  );
  for (const record of step.calls) {
    const { raw, round = 0, result } = record;
    if (result?.isEphemeral !== true || !reading.has(raw.name)) continue;
    if (deps.ephemeral.get(resultKey(jobIdOf(turn.id, raw.id, round))) !== undefined) continue;
    delete record.result;
    // Under another id, because the old one has its outcome already.
    record.round = round + 1;
  }
}

/** What the model has thought about them may repeat them, so it goes, too. Nothing needs it after the turn. */
export function dropEphemeral({ turn, deps }: TurnRun): void {
  if (!callsOf(turn).some(({ result }) => result?.isEphemeral)) return;
  for (const step of turn.steps) delete step.carry;
  deps.ephemeral.drop(resultKey(jobIdOf(turn.id, "")));
}
