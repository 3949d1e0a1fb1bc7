/** Reads what was said before a turn, once, before the turn's first step. */
import type { TurnRun } from "./turn-store.ts";

export async function gatherEarlier({ turn, deps, progress, signal, save }: TurnRun): Promise<void> {
  if (turn.steps.length > 0) return;
  progress.phase("Reading what was said");
  if (turn.heard === undefined) {
    const heard = await deps.earlier.read(turn, signal);
    signal.throwIfAborted();
    if (heard !== undefined) {
      turn.heard = heard;
      await save();
    }
  }
  // Do this last so that a crash neither loses the messages nor makes the next turn read them again. The model is asked
  // meanwhile: if the mark is lost, this turn sets it again when it resumes.
  void deps.earlier.markKnown(turn);
}
