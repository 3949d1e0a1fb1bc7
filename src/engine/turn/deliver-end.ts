/** Shows the end of a turn where it was asked. If nobody would see it there, its requester gets a direct message. */
import { messageOf } from "../../lib/errors.ts";
import { isNoRoute, isPlatformAway } from "../../ports/platform.ts";
import type { Delivery } from "../../ports/turn-deps.ts";
import type { TurnRun } from "./turn-store.ts";

/** `note` goes above the text. Rejects like a reply, with `platform.no-route` if the requester can't be reached either. */
export async function deliverEnd(
  { turn, delivery, deps }: TurnRun,
  show: (delivery: Delivery, note: string) => Promise<void>,
): Promise<void> {
  try {
    await show(delivery, "");
  } catch (thrown) {
    if (!isNoRoute(thrown)) throw thrown;
    deps.log.warn({ turnId: turn.id, error: messageOf(thrown) }, "can't answer where it was asked; writing directly");
    const direct = await deps.deliverDirect(turn).catch((again: unknown) => {
      if (isPlatformAway(again)) throw again;
      deps.log.warn({ turnId: turn.id, error: messageOf(again) }, "could not open a direct message with the requester");
      throw thrown;
    });
    const note = `*(I can't write in ${direct.asked}: ${thrown.plain}. So I answer here.)*\n\n`;
    await show(direct.delivery, note).catch((again: unknown) => {
      if (!isNoRoute(again)) throw again;
      deps.log.warn({ turnId: turn.id, error: messageOf(again) }, "can't answer by direct message either");
      // Owners read why the place where it was asked takes nothing.
      throw thrown;
    });
  }
}
