/** Parks a turn until people have answered a card. */
import { messageOf } from "../../lib/errors.ts";
import type { TurnRun } from "./turn-store.ts";

export async function park(run: TurnRun, cardId: string): Promise<"parked"> {
  run.progress.stop();
  await run.delivery.park();
  await run.save("parked");
  // Later turns of the conversation must see this waiting turn in their history.
  await run.deps.context.remember(run.turn).catch((thrown: unknown) => {
    run.deps.log.warn(
      { turnId: run.turn.id, error: messageOf(thrown) },
      "could not write a waiting turn to the history",
    );
  });
  run.deps.events.emit("turn.parked", { ...run.fields, cardId });
  return "parked";
}
