/**
 * Tells people that their request was stopped while it waited for its turn. Its messages stay `stopping` in the ledger until
 * people can read it, so a sweep says it after a crash, or once the service accepts messages again.
 */
import { elapsedSince } from "../../lib/elapsed.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import { type InboundMessage, messageKey, type ReplyTarget } from "../../ports/message.ts";
import { isNoRoute } from "../../ports/platform.ts";
import { queuedRequests } from "./places-in-queue.ts";

export interface StoppedRequest {
  target: ReplyTarget;
  messages: readonly InboundMessage[];
}

export interface StoppedRequests {
  /** Begins to tell those that nobody has been told about. Resolves when it has begun. */
  begin(): Promise<void>;
  isTelling(turnId: string): boolean;
  whenIdle(): Promise<void>;
}

export interface StoppedRequestsOptions {
  ledger: Ledger;
  /**
   * Shows it in the reply, under a lock: nothing if `isOwed` resolves to false, and `settle` once people can read it. Shows
   * nothing if another process has to.
   */
  show(target: ReplyTarget, isOwed: () => Promise<boolean>, settle: () => Promise<void>): Promise<void>;
  log: Log;
}

/** Nobody waits for it any longer. */
const maxOwedMs = 24 * 3_600_000;
const maxRemembered = 1_000;

export function createStoppedRequests({ ledger, show, log }: StoppedRequestsOptions): StoppedRequests {
  const telling = new Map<string, Promise<void>>();
  const failed = createLruMap<true>(maxRemembered);

  async function tell({ target, messages }: StoppedRequest): Promise<void> {
    const turn = await ledger.get("turn", target.turnId);
    // A turn that has these messages says so when it ends.
    if (turn?.state === "running" || turn?.state === "parked") return;
    const settleAll = () => settle(messages);
    if (turn !== undefined && !endedSilently(turn)) return await settleAll();
    try {
      await show(target, () => isOwed(messages), settleAll);
    } catch (thrown) {
      if (!isNoRoute(thrown)) throw thrown;
      // Nobody will ever see it.
      await settleAll();
    }
  }

  async function isOwed([first]: readonly InboundMessage[]): Promise<boolean> {
    return first !== undefined && (await ledger.get("message", keyOf(first)))?.state === "stopping";
  }

  /** Newest first: the request is named by its first message, so a crash in between leaves the same request. */
  async function settle(messages: readonly InboundMessage[]): Promise<void> {
    for (const message of messages.toReversed())
      await ledger.transition("message", keyOf(message), ["stopping"], "stopped");
  }

  function tellInBackground(request: StoppedRequest): void {
    const { turnId } = request.target;
    const told = tell(request)
      .catch((thrown: unknown) => {
        // A service can be away for hours, and sweeps come every few seconds.
        const level = failed.get(turnId) ? "debug" : "warn";
        failed.set(turnId, true);
        log[level]({ turnId, error: messageOf(thrown) }, "could not say that a request was stopped; trying again soon");
      })
      .finally(() => telling.delete(turnId));
    telling.set(turnId, told);
  }

  return {
    async begin() {
      const entries = await ledger.list("message", { states: ["stopping"] });
      const isOld = ({ updatedAt }: LedgerEntry<"message">) => elapsedSince(updatedAt) > maxOwedMs;
      await settle(entries.filter(isOld).map(({ body }) => body));
      for (const request of queuedRequests(entries.filter((entry) => !isOld(entry))))
        if (!telling.has(request.target.turnId)) tellInBackground(request);
    },
    isTelling: (turnId) => telling.has(turnId),
    async whenIdle() {
      await Promise.all(telling.values());
    },
  };
}

/** It took no message, because all of them were stopped first. */
function endedSilently({ state, body }: LedgerEntry<"turn">): boolean {
  return state === "stopped" && body.failure === undefined;
}

function keyOf({ platform, id }: InboundMessage): string {
  return messageKey(platform, id);
}
