/**
 * Notices: no decision goes unrecorded, no settled card keeps live buttons, and no turn sleeps on, whatever dies in between.
 *
 *   1. before rows of a card or its grants change, a notice is written
 *   2. they change; turns that wait for them are woken
 *   3. what was decided is recorded, and the card is rewritten where people see it; in the background: nobody's click waits
 *   4. the notice is told
 *
 * A notice that is still due at a sweep, from a crash, from a platform that was away, or from another process, is told then.
 */

import { messageOf } from "../lib/errors.ts";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { Log } from "../lib/log.ts";
import type { ApprovalCard } from "../ports/approval.ts";
import type { CardNotice, Ledger } from "../ports/ledger.ts";
import type { ApprovalRow } from "./card.ts";
import { createApprovalId } from "./hash.ts";

/** A message that can't be rewritten for so long is gone. */
const givenUpAfterMs = 24 * 60 * 60 * 1000;

export interface NoticesOptions {
  ledger: Ledger;
  log: Log;
  cards(cardId: string): Promise<ApprovalCard[]>;
  /** Records what was decided on a card and is not recorded yet. */
  record(cardId: string): Promise<void>;
  /** Absent: this process tells nobody; the one that can does at its next sweep. */
  onSettled?: ((card: ApprovalCard) => Promise<void>) | undefined;
  wake(turnId: string): void;
}

export interface Notices {
  /** `work` changes rows of the card and returns those it changed; `wakes`: somebody else than their turns does it. */
  around(cardId: string, turnIds: string[], wakes: boolean, work: () => Promise<ApprovalRow[]>): Promise<ApprovalRow[]>;
  /** For what is to be recorded and changes nothing that people see. */
  quietly<T>(cardId: string, work: () => Promise<T>): Promise<T>;
  sweep(now: number): Promise<void>;
  whenIdle(): Promise<void>;
}

export function createNotices({ ledger, log, cards, record, onSettled, wake }: NoticesOptions): Notices {
  const inOrder = createKeyedMutex();
  /** Notices that this process is at. */
  const active = new Set<string>();
  /** Notices that this process could not tell to the end, and whether their card is shown. */
  const tried = new Map<string, { isShown: boolean }>();
  const telling = new Set<Promise<void>>();

  async function show(id: string, cardId: string): Promise<void> {
    if (onSettled === undefined || tried.get(id)?.isShown === true) return;
    for (const card of await cards(cardId)) await onSettled(card);
    tried.set(id, { isShown: true });
  }

  /** One that fails does not keep the other from being done. The card is read when its turn comes: never an earlier state. */
  async function tellNow(id: string, { cardId, isQuiet }: CardNotice): Promise<void> {
    const seen = (await ledger.get("notice", id))?.body.isChanged;
    const parts = await Promise.allSettled([record(cardId), isQuiet ? undefined : show(id, cardId)]);
    const failed = parts.find((part) => part.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    // A change that came to its end meanwhile may not have been seen: then the notice stays due.
    await ledger.transition("notice", id, ["due"], "told", (body) => (body.isChanged === seen ? body : undefined));
    tried.delete(id);
  }

  function tell(id: string, notice: CardNotice): void {
    const { cardId } = notice;
    const told = inOrder(cardId, async () => {
      try {
        await tellNow(id, notice);
      } catch (thrown) {
        tried.set(id, tried.get(id) ?? { isShown: false });
        log.warn(
          { cardId, error: messageOf(thrown) },
          "a decision could not be recorded or its card not be rewritten; the next sweep tries again",
        );
      } finally {
        active.delete(id);
      }
    });
    telling.add(told);
    void told.then(() => telling.delete(told));
  }

  async function isWaiting(turnId: string): Promise<boolean> {
    return (await ledger.list("approval", { states: ["open"], group: turnId, limit: 1 })).length > 0;
  }

  /** `after` says whether there is anything to tell. */
  async function noticed<T>(notice: CardNotice, work: () => Promise<T>, after: (result: T) => boolean): Promise<T> {
    const id = createApprovalId();
    active.add(id);
    try {
      await ledger.create("notice", id, { state: "due", body: notice, group: notice.cardId });
      const result = await work();
      const isToBeTold = after(result);
      // Another process may have told it before the change.
      if (isToBeTold) {
        await ledger.transition("notice", id, ["due", "told"], "due", (body) => ({ ...body, isChanged: true }));
      }
      if (isToBeTold && onSettled !== undefined) tell(id, notice);
      else active.delete(id);
      if (!isToBeTold) await ledger.transition("notice", id, ["due"], "told");
      return result;
    } catch (thrown) {
      active.delete(id);
      throw thrown;
    }
  }

  return {
    around: (cardId, turnIds, wakes, work) =>
      noticed({ cardId, turnIds }, work, (changed) => {
        const woken = changed.filter((row) => row.state !== "open").map((row) => row.body.turnId);
        if (wakes) for (const turnId of new Set(woken)) wake(turnId);
        return changed.length > 0;
      }),
    quietly: (cardId, work) => noticed({ cardId, turnIds: [], isQuiet: true }, work, () => true),
    async sweep(now) {
      for (const { id, body, createdAt } of await ledger.list("notice", { states: ["due"] })) {
        if (active.has(id)) continue;
        if (now - createdAt > givenUpAfterMs && tried.has(id)) {
          await ledger.transition("notice", id, ["due"], "told");
          tried.delete(id);
          continue;
        }
        active.add(id);
        for (const turnId of body.turnIds) if (!(await isWaiting(turnId))) wake(turnId);
        tell(id, body);
      }
    },
    async whenIdle() {
      while (telling.size > 0) await Promise.all(telling);
    },
  };
}
