/** Turns whose stages are doubles. */
import { afterEach } from "vitest";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { turnRecord } from "../doubles/records.ts";
import { createStageDoubles, keepTurn, type StageDoubleOptions, type StageDoubles } from "../doubles/turn-deps.ts";

export const never = new AbortController().signal;
/** Of the running test. */
export let doubles: StageDoubles;

export function useDoubles(): void {
  afterEach(() => doubles.close());
}

export async function start(options: StageDoubleOptions, turn = turnRecord()) {
  doubles = createStageDoubles(options);
  return await keepTurn(doubles.ledger, turn);
}

export async function run(options: StageDoubleOptions, turn = turnRecord(), signal = never) {
  const kept = await start(options, turn);
  const end = await runTurn(kept, doubles.stages, signal);
  return { end, turn: kept };
}

export const namesOf = () => doubles.events.map((event) => event.name);
