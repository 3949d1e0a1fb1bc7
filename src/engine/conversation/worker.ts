/**
 * Does one piece of work in a conversation: takes its lease, claims a turn, and runs the turn to its end. The turn was
 * woken, was orphaned by a dead process, or is new.
 */
import { TurnAbort } from "../../lib/abort.ts";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
import type { Leases } from "../../ports/cluster.ts";
import type { Events } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { claimed, saveTurn, type TurnEnd, TurnOwnershipLost, turnFields } from "../turn/turn-store.ts";
import { activeTurns, isWaitingForApproval } from "./active-turns.ts";
import type { Inbox } from "./inbox.ts";
import type { Postponed } from "./postponed.ts";
import type { ScheduledConversation } from "./scheduler.ts";
import type { StartNextTurn } from "./start-turn.ts";

export interface WorkerOptions {
  ledger: Ledger;
  messages: Inbox;
  events: Events;
  log: Log;
  leases: Leases;
  startNextTurn: StartNextTurn;
  postponed: Postponed;
  /** If false, other processes work on the conversation. */
  serves(conversationId: string): Promise<boolean>;
  /** `isLost` is true once another process may run the turn. Unlike the signal, it never says so too late. */
  run(turn: TurnRecord, signal: AbortSignal, isLost: () => boolean): Promise<TurnEnd>;
  settleDecided(turnId: string): Promise<void>;
  /** A read or write failed, so something may be left that nobody has marked. */
  onStorageFault(): void;
  /** Called if `run` threw, which is a bug. Must tell people that the turn failed. */
  onCrash(turn: TurnRecord, thrown: unknown): Promise<void>;
}

/** Resolves to true if there was work. Never throws. */
export type ConversationWorker = (conversationId: string, conversation: ScheduledConversation) => Promise<boolean>;

export function createWorker(options: WorkerOptions): ConversationWorker {
  const { ledger, messages, events, log, leases, startNextTurn, postponed, serves, run, onCrash } = options;

  async function work(conversationId: string, conversation: ScheduledConversation): Promise<boolean> {
    try {
      // Later messages wait too, because their answers must not overtake the one that waits.
      if (postponed.isWaiting(conversationId)) return false;
      if (!(await holdLease(conversationId, conversation))) return false;
      const turn = (await claimWoken(conversation)) ?? (await startNextTurn(conversationId));
      if (turn !== undefined) {
        return await runClaimed(conversation, turn);
      }
      await releaseLease(conversation);
      // Check again after the release: only the holder of the lease could take messages that arrived since.
      return (await messages.queued(conversationId)).length > 0;
    } catch (thrown) {
      log.error(
        { conversationId, error: messageOf(thrown) },
        "the work of a conversation failed; its messages are kept",
      );
      options.onStorageFault();
      await releaseLease(conversation);
      return false;
    }
  }

  /** False if another process has the lease, which also learns of new work. */
  async function holdLease(conversationId: string, conversation: ScheduledConversation): Promise<boolean> {
    if (conversation.lease?.signal.aborted === true) await releaseLease(conversation);
    if (conversation.lease !== undefined) return true;
    if (!(await serves(conversationId))) return false;
    const lease = await leases.acquire(`conversation:${conversationId}`);
    if (lease === undefined) {
      conversation.wokenTurnIds.length = 0;
      return false;
    }
    conversation.lease = lease;
    await wakeOrphans(conversationId, conversation);
    return !lease.signal.aborted;
  }

  /** Wakes running turns: only the holder of the lease runs them. They resume before any new turn starts. */
  async function wakeOrphans(conversationId: string, conversation: ScheduledConversation): Promise<void> {
    const running = await activeTurns(ledger, conversationId, ["running"]);
    // Take the messages again: the process may have crashed before it took them.
    for (const turn of running) await messages.take(turn.messages);
    conversation.wokenTurnIds = [...new Set([...running.map((turn) => turn.id), ...conversation.wokenTurnIds])];
  }

  async function releaseLease(conversation: ScheduledConversation): Promise<void> {
    const { lease } = conversation;
    delete conversation.lease;
    await lease?.release();
  }

  /** False if the turn must wait. The next sweep resumes it, so that a full disk does not ask the model again and again. */
  async function runClaimed(conversation: ScheduledConversation, turn: TurnRecord): Promise<boolean> {
    const controller = new AbortController();
    if (turn.abort !== undefined) controller.abort(new TurnAbort(turn.abort));
    conversation.running = { turn, controller };
    const { lease } = conversation;
    const leave = () => controller.abort(new TurnAbort("shutdown"));
    if (lease?.signal.aborted === true) leave();
    lease?.signal.addEventListener("abort", leave, { once: true });
    try {
      const end = await run(turn, controller.signal, () => lease?.signal.aborted === true);
      if (end === "done" || end === "failed" || end === "stopped") await messages.answered(turn.messages);
      if (end === "parked" && (turn.abort !== undefined || !(await isWaitingForApproval(ledger, turn)))) {
        conversation.wokenTurnIds.push(turn.id);
      }
      if (end === "undelivered") postponed.postpone(turn.conversationId);
      else postponed.settle(turn.conversationId);
      if (end !== "suspended" && end !== "undelivered") return true;
      await releaseLease(conversation);
      return false;
    } catch (thrown) {
      // The next holder of the lease resumes the turn before any new turn starts.
      if (isTransientStorageError(thrown)) {
        log.warn(
          { turnId: turn.id, error: messageOf(thrown) },
          "storage or a lock is not available; the turn resumes later",
        );
        options.onStorageFault();
        await releaseLease(conversation);
        return false;
      }
      if (!(thrown instanceof TurnOwnershipLost)) await crashed(turn, thrown);
      else if (await isStored(turn)) await releaseLease(conversation);
      else await crashed(turn, recordMissing(turn));
      return true;
    } finally {
      lease?.signal.removeEventListener("abort", leave);
      delete conversation.running;
    }
  }

  /** False if the ledger has lost the turn, for example after Redis restarted empty. The turn can't be resumed. */
  async function isStored(turn: TurnRecord): Promise<boolean> {
    return (await ledger.get("turn", turn.id)) !== undefined;
  }

  async function crashed(turn: TurnRecord, thrown: unknown): Promise<void> {
    log.error(
      { turnId: turn.id, error: messageOf(thrown), stack: thrown instanceof Error ? thrown.stack : "" },
      "a turn crashed",
    );
    turn.failure ??= messageOf(thrown);
    turn.endedAt = Date.now();
    await onCrash(turn, thrown).catch((again) => log.error({ error: messageOf(again) }, "could not show the failure"));
    await saveTurn(ledger, turn, "failed").catch(() => {});
    await messages.answered(turn.messages);
    events.emit("turn.finished", {
      ...turnFields(turn),
      outcome: "failed",
      steps: turn.steps.length,
      durationMs: turn.endedAt - turn.startedAt,
    });
  }

  async function claimWoken(conversation: ScheduledConversation): Promise<TurnRecord | undefined> {
    for (
      let turnId = conversation.wokenTurnIds.shift();
      turnId !== undefined;
      turnId = conversation.wokenTurnIds.shift()
    ) {
      const entry = await ledger.transition("turn", turnId, ["parked", "running"], "running", claimed);
      if (entry !== undefined) return entry.body;
      await options.settleDecided(turnId);
    }
    return undefined;
  }

  return work;
}

function recordMissing({ id }: TurnRecord): RemoraError {
  return new RemoraError({
    code: "turn.record-missing",
    place: `turn ${id}`,
    message:
      "its record has disappeared from the ledger, so it can't be resumed. A Redis without `appendonly yes` loses its data " +
      "at a restart; turn persistence on",
  });
}
