/** Gathers what was said before a turn, once, before its first step. */
import type { TurnRun } from "./turn-store.ts";

export async function gatherEarlier({ turn, deps, signal, save }: TurnRun): Promise<void> {
  if (turn.steps.length > 0) return;
  if (turn.heard === undefined) {
    const heard = await deps.earlier.read(turn, signal);
    signal.throwIfAborted();
    if (heard !== undefined) {
      turn.heard = heard;
      await save();
    }
  }
  // Last, so that after a crash in between the messages are neither lost nor read for the next turn again.
  await deps.earlier.markKnown(turn);
}
