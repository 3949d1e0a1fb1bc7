/** What one call adds to the counts of everybody whom it concerns. */
import type { TurnRecord } from "../ports/turn.ts";
import {
  type CountedCall,
  type ModelCall,
  type Payer,
  type Resent,
  type SideCall,
  usageSubject,
} from "../ports/usage.ts";
import { dailyId, type Watched } from "./budgets.ts";
import type { Addition } from "./counter.ts";

/** Who asks for a call: a turn for its next step, or a part of Remora on its behalf. */
export interface Caller {
  payer: Payer;
  turn?: TurnRecord;
  side?: SideCall;
}

export function additionsOf(
  { payer, side }: Caller,
  { day, model, usage, cost, addedMs, isEstimated, resent }: ModelCall & CountedCall & { day: string; resent?: Resent },
  held: readonly Watched[],
  releases: string,
): Addition[] {
  const { platform, scope, conversationId, scheduleId } = payer;
  const more = {
    ...{ day, calls: 1, ...usage, addedMs, cost: cost ?? 0, unpricedCalls: cost === undefined ? 1 : 0 },
    ...(isEstimated === true ? { estimatedCalls: 1 } : {}),
  };
  // People know calls as steps. The calls also say how many tokens a step uses on average.
  const aside = side?.model === undefined ? more : { ...more, calls: 0, unpricedCalls: 0 };
  const user = usageSubject.user(platform, payer.user.id);
  const forAll = [usageSubject.model(model), usageSubject.everyone];
  const subjects = [
    user,
    usageSubject.scope(platform, scope),
    usageSubject.conversation(conversationId),
    ...(scheduleId === undefined ? [] : [usageSubject.schedule(scheduleId)]),
    ...forAll,
  ];
  // The entries that hold the reservation come first, so that a failure in between does not leave them uncounted.
  const ids = new Map(held.map(({ id, subject }) => [id, subject]));
  for (const subject of subjects) ids.set(dailyId(day, subject), subject);
  return [...ids].map(([id, subject]) => ({
    ...{ id, subject, releases, more: forAll.includes(subject) ? more : aside },
    ...(resent !== undefined && subject === usageSubject.everyone
      ? { more: { ...more, resent: { [model]: resent } } }
      : {}),
    ...(subject === user ? { name: payer.user.name } : {}),
  }));
}
