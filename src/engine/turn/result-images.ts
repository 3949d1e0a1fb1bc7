/** Keeps stored records small: only the turn's record holds pictures, and only while the model may need them. */
import { messageOf } from "../../lib/errors.ts";
import { jobIdOf, withoutImages } from "../../ports/tool.ts";
import { type CallRecord, callsOf, type TurnRecord } from "../../ports/turn.ts";
import type { TurnRun } from "./turn-store.ts";

/** About 4 MB in total. Limited, because each save writes the whole record. */
const maxKeptImages = 8;

/** Keeps the newest pictures. */
export function dropOldImages(turn: TurnRecord, kept = maxKeptImages): void {
  let left = kept;
  for (const record of callsOf(turn).toReversed()) {
    left -= record.result?.images?.length ?? 0;
    if (left < 0 && record.result !== undefined) record.result = withoutImages(record.result);
  }
}

/** Never rejects. Call only after the turn's record has been saved with the results. From then on, nothing reads these pictures. */
export async function dropQueuedImages({ turn, deps }: TurnRun, records: readonly CallRecord[]): Promise<void> {
  for (const { call, result, round } of records) {
    if (call === undefined || result?.images === undefined) continue;
    await deps.ledger
      .transition("call", jobIdOf(turn.id, call.id, round), ["done"], "done", (body) =>
        body.result === undefined ? undefined : { ...body, result: withoutImages(body.result) },
      )
      .catch((thrown: unknown) => {
        deps.log.warn({ turnId: turn.id, error: messageOf(thrown) }, "could not drop the pictures of a call's record");
      });
  }
}
