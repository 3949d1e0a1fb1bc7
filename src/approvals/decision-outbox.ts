/**
 * Makes decisions survive a crash. A notice is written before a card's rows or grants change, and waiting turns are
 * woken after the change. Decisions are recorded and the card is updated in the background, so no click waits. A sweep
 * delivers notices that are still due: after a crash, from another process, or after a platform was unreachable.
 */
import { messageOf } from "../lib/errors.ts";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { Log } from "../lib/log.ts";
import { isLockTaken } from "../lib/with-lock.ts";
import type { ApprovalCard } from "../ports/card.ts";
import type { CardNotice, Ledger } from "../ports/ledger.ts";
import type { ApprovalRow } from "./card.ts";
import { createApprovalId } from "./hash.ts";

/** After this long, a message that can't be updated is assumed to be deleted. */
const maxRetryMs = 24 * 60 * 60 * 1000;

export interface DecisionOutboxOptions {
  ledger: Ledger;
  log: Log;
  cards(cardId: string): Promise<ApprovalCard[]>;
  record(cardId: string): Promise<void>;
  /** Called after all messages of a changed card have been updated. */
  settled?(cardId: string): Promise<void>;
  /** Must show the latest state of the card. If absent, another process updates the card at its next sweep. */
  onSettled?: ((card: ApprovalCard) => Promise<void>) | undefined;
  wake(turnId: string): void;
}

export interface DecisionOutbox {
  /** `work` changes rows of the card and returns them. If `wakes` is true, their turns are woken. */
  around(cardId: string, turnIds: string[], wakes: boolean, work: () => Promise<ApprovalRow[]>): Promise<ApprovalRow[]>;
  /** Records changes that no card shows. */
  quietly<T>(cardId: string, work: () => Promise<T>): Promise<T>;
  sweep(now: number): Promise<void>;
  whenIdle(): Promise<void>;
}

export function createDecisionOutbox({
  ledger,
  log,
  cards,
  record,
  onSettled,
  settled,
  wake,
}: DecisionOutboxOptions): DecisionOutbox {
  const inOrder = createKeyedMutex();
  const active = new Set<string>();
  /** Notices that could not be delivered, and whether their card was updated anyway. */
  const failed = new Map<string, { isShown: boolean }>();
  const delivering = new Set<Promise<void>>();

  async function show(id: string, cardId: string): Promise<void> {
    if (onSettled === undefined || failed.get(id)?.isShown === true) return;
    const parts = await Promise.allSettled((await cards(cardId)).map(onSettled));
    // One message that can't be written does not hold up the copies.
    const rejected = parts.find((part) => part.status === "rejected");
    if (rejected !== undefined) throw rejected.reason;
    await settled?.(cardId);
    failed.set(id, { isShown: true });
  }

  /** Records and shows in parallel, because neither must block the other. Both read the current card. */
  async function deliverNow(id: string, { cardId, isQuiet }: CardNotice): Promise<void> {
    const seen = (await ledger.get("notice", id))?.body.isChanged;
    const parts = await Promise.allSettled([record(cardId), isQuiet ? undefined : show(id, cardId)]);
    const rejected = parts.find((part) => part.status === "rejected");
    if (rejected !== undefined) throw rejected.reason;
    // If rows changed during delivery, the notice stays due.
    await ledger.transition("notice", id, ["due"], "told", (body) => (body.isChanged === seen ? body : undefined));
    failed.delete(id);
  }

  function deliver(id: string, notice: CardNotice): void {
    const { cardId } = notice;
    const delivered = inOrder(cardId, async () => {
      try {
        await deliverNow(id, notice);
      } catch (thrown) {
        failed.set(id, failed.get(id) ?? { isShown: false });
        // In an outage, another writer of the card holds its lock for minutes, and sweeps come every few seconds.
        const level = isLockTaken(thrown) ? "debug" : "warn";
        log[level](
          { cardId, error: messageOf(thrown) },
          "could not record a decision or update its card; retrying at the next sweep",
        );
      } finally {
        active.delete(id);
      }
    });
    delivering.add(delivered);
    void delivered.then(() => delivering.delete(delivered));
  }

  async function isWaiting(turnId: string): Promise<boolean> {
    const open = await ledger.list("approval", { states: ["open"], group: turnId });
    return open.some(({ body }) => body.budget?.isBlocking !== false);
  }

  /** `isDue` tells from the result whether there is anything to record and show. */
  async function noticed<T>(notice: CardNotice, work: () => Promise<T>, isDue: (result: T) => boolean): Promise<T> {
    const id = createApprovalId();
    active.add(id);
    try {
      await ledger.create("notice", id, { state: "due", body: notice, group: notice.cardId });
      const result = await work();
      const hasChanged = isDue(result);
      // Another process may have delivered the notice too early, so mark it due again.
      if (hasChanged) {
        await ledger.transition("notice", id, ["due", "told"], "due", (body) => ({ ...body, isChanged: true }));
      }
      if (hasChanged && onSettled !== undefined) deliver(id, notice);
      else active.delete(id);
      if (!hasChanged) await ledger.transition("notice", id, ["due"], "told");
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
        if (now - createdAt > maxRetryMs && failed.has(id)) {
          await ledger.transition("notice", id, ["due"], "told");
          failed.delete(id);
          continue;
        }
        active.add(id);
        for (const turnId of body.turnIds) if (!(await isWaiting(turnId))) wake(turnId);
        deliver(id, body);
      }
    },
    async whenIdle() {
      while (delivering.size > 0) await Promise.all(delivering);
    },
  };
}
