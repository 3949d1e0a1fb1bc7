/**
 * Gathers what a turn needs before a model request, and saves it in the turn's record. After a crash, only what is missing is
 * gathered. Each gatherer resolves when its part is saved.
 */
import { gatherEarlier } from "./gather-earlier.ts";
import { gatherFiles } from "./gather-files.ts";
import { leaveOutRefused } from "./refused-messages.ts";
import type { TurnRun } from "./turn-store.ts";

const gatherers: readonly ((run: TurnRun) => Promise<void>)[] = [leaveOutRefused, gatherEarlier, gatherFiles];

/** Rejects if the signal aborts. */
export async function gather(run: TurnRun): Promise<void> {
  for (const gatherer of gatherers) await gatherer(run);
}
