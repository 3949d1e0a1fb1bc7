/** Keeps stored records small: a picture is in the turn's record while the model may need it, and nowhere else. */
import { withoutImages } from "../../ports/tool.ts";
import { type CallRecord, callsOf, type TurnRecord } from "../../ports/turn.ts";
import type { TurnRun } from "./turn-store.ts";

/** About 4 MB. Each save writes the whole record. */
const maxKeptImages = 8;

/** Keeps the newest pictures. */
export function dropOldImages(turn: TurnRecord, kept = maxKeptImages): void {
  let left = kept;
  for (const record of callsOf(turn).toReversed()) {
    left -= record.result?.images?.length ?? 0;
    if (left < 0 && record.result !== undefined) record.result = withoutImages(record.result);
  }
}

/** Call after the turn's record with the results is saved: nobody asks for these jobs again. */
export async function dropQueuedImages({ turn, deps }: TurnRun, records: readonly CallRecord[]): Promise<void> {
  for (const { call, result } of records) {
    if (call === undefined || result?.images === undefined) continue;
    await deps.ledger.transition("call", `${turn.id}-${call.id}`, ["done"], "done", (body) =>
      body.result === undefined ? undefined : { ...body, result: withoutImages(body.result) },
    );
  }
}
