/** Task files are for people to read. A turn goes on without them. */
import { messageOf } from "../../lib/errors.ts";
import type { TaskFiles } from "../../ports/turn.ts";
import type { TurnRun } from "./turn-store.ts";

/** Never rejects. */
export async function saveTaskFile({ turn, deps }: TurnRun, state: Parameters<TaskFiles["save"]>[1]): Promise<void> {
  await deps.taskFiles.save(turn, state).catch((thrown: unknown) => {
    deps.log.warn({ turnId: turn.id, error: messageOf(thrown) }, "could not write a task file");
  });
}
