/**
 * The work of one conversation, a piece at a time, for its lane:
 *
 *   1. hold its lease, or leave it to whoever does
 *   2. a turn that goes on: woken, or left behind by a process that died; else a new one of what waits
 *   3. run it, and see to how that ended
 */
import { TurnAbort } from "../../lib/abort.ts";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Leases } from "../../ports/cluster.ts";
import type { Events } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { isLedgerAway, type TurnEnd } from "../turn/run-turn.ts";
import { fieldsOf, owned, saveTurn, TurnOwnershipLost } from "../turn/turn-store.ts";
import { isStillWaiting, turnsOf } from "./active-turns.ts";
import type { Inbox } from "./inbox.ts";
import type { Lane } from "./scheduler.ts";
import type { StartNextTurn } from "./start-turn.ts";

export interface WorkerOptions {
  ledger: Ledger;
  messages: Inbox;
  events: Events;
  log: Log;
  leases: Leases;
  nextNew: StartNextTurn;
  /** Whether this process can answer there; false leaves the conversation to others. */
  serves(conversationId: string): Promise<boolean>;
  run(turn: TurnRecord, signal: AbortSignal): Promise<TurnEnd>;
  /** Keeps or discards what an ended turn did to its folder, once people have decided. Does nothing for other turns. */
  settleDecided(turnId: string): Promise<void>;
  /** Told when `run` threw, which is a bug: people must see that it failed. */
  onCrash(turn: TurnRecord, thrown: unknown): Promise<void>;
}

/** Does one piece of work and tells whether there was one; never throws. */
export type Work = (conversationId: string, lane: Lane) => Promise<boolean>;

export function createWorker(options: WorkerOptions): Work {
  const { ledger, messages, events, log, leases, nextNew, serves, run, onCrash } = options;

  async function work(conversationId: string, lane: Lane): Promise<boolean> {
    try {
      if (!(await holds(conversationId, lane))) return false;
      const turn = (await nextWoken(lane)) ?? (await nextNew(conversationId));
      if (turn !== undefined) {
        await runIn(lane, turn);
        return true;
      }
      await giveBack(lane);
      // What came in before the lease was free again could not be taken up by anybody.
      return (await messages.queued(conversationId)).length > 0;
    } catch (thrown) {
      log.error({ conversationId, error: messageOf(thrown) }, "a conversation's work failed; its messages stay kept");
      await giveBack(lane);
      return false;
    }
  }

  /** False when the conversation is worked on elsewhere; whoever does has heard of what there is to do. */
  async function holds(conversationId: string, lane: Lane): Promise<boolean> {
    if (lane.lease?.signal.aborted === true) await giveBack(lane);
    if (lane.lease !== undefined) return true;
    if (!(await serves(conversationId))) return false;
    const lease = await leases.acquire(`conversation:${conversationId}`);
    if (lease === undefined) {
      lane.wakes.length = 0;
      return false;
    }
    lane.lease = lease;
    await wakeLeftBehind(conversationId, lane);
    return !lease.signal.aborted;
  }

  /** Turns that nobody runs any more, as now that their lease is ours nobody can: they come before anything new. */
  async function wakeLeftBehind(conversationId: string, lane: Lane): Promise<void> {
    const running = await turnsOf(ledger, conversationId, ["running"]);
    // Also where a crash came between the writing of the turn and the taking of its messages.
    for (const turn of running) await messages.take(turn.messages);
    lane.wakes = [...new Set([...running.map((turn) => turn.id), ...lane.wakes])];
  }

  async function giveBack(lane: Lane): Promise<void> {
    const { lease } = lane;
    delete lane.lease;
    await lease?.release();
  }

  async function runIn(lane: Lane, turn: TurnRecord): Promise<void> {
    const controller = new AbortController();
    if (turn.abort !== undefined) controller.abort(new TurnAbort(turn.abort));
    lane.running = { turn, controller };
    const { lease } = lane;
    const leave = () => controller.abort(new TurnAbort("shutdown"));
    if (lease?.signal.aborted === true) leave();
    lease?.signal.addEventListener("abort", leave, { once: true });
    try {
      const end = await run(turn, controller.signal);
      if (end === "done" || end === "failed" || end === "stopped") await messages.answered(turn.messages);
      if (end === "parked" && !(await isStillWaiting(ledger, turn))) lane.wakes.push(turn.id);
      if (end === "suspended") await giveBack(lane);
    } catch (thrown) {
      // Here or elsewhere, whoever has the lease next goes on with it before anything new.
      if (isLedgerAway(thrown)) await giveBack(lane);
      else if (!(thrown instanceof TurnOwnershipLost)) await crashed(turn, thrown);
      else if (await isKept(turn)) await giveBack(lane);
      else await crashed(turn, forgotten(turn));
    } finally {
      lease?.signal.removeEventListener("abort", leave);
      delete lane.running;
    }
  }

  /** False in a ledger that has forgotten, such as a Redis that came back empty: nobody goes on with it. */
  async function isKept(turn: TurnRecord): Promise<boolean> {
    return (await ledger.get("turn", turn.id)) !== undefined;
  }

  async function crashed(turn: TurnRecord, thrown: unknown): Promise<void> {
    log.error(
      { turnId: turn.id, error: messageOf(thrown), stack: thrown instanceof Error ? thrown.stack : "" },
      "a turn crashed",
    );
    turn.failure ??= messageOf(thrown);
    turn.endedAt = Date.now();
    await onCrash(turn, thrown).catch((again) =>
      log.error({ error: messageOf(again) }, "the failure could not be shown"),
    );
    await saveTurn(ledger, turn, "failed").catch(() => {});
    await messages.answered(turn.messages);
    events.emit("turn.finished", {
      ...fieldsOf(turn),
      outcome: "failed",
      steps: turn.steps.length,
      durationMs: turn.endedAt - turn.startedAt,
    });
  }

  async function nextWoken(lane: Lane): Promise<TurnRecord | undefined> {
    for (let turnId = lane.wakes.shift(); turnId !== undefined; turnId = lane.wakes.shift()) {
      const entry = await ledger.transition("turn", turnId, ["parked", "running"], "running", owned);
      if (entry !== undefined) return entry.body;
      await options.settleDecided(turnId);
    }
    return undefined;
  }

  return work;
}

function forgotten({ id }: TurnRecord): RemoraError {
  return new RemoraError({
    code: "turn.record-missing",
    place: `turn ${id}`,
    message:
      "its record has disappeared from the ledger, so nobody can go on with it. A Redis without `appendonly yes` forgets " +
      "when it is started again; see that it keeps what it was given",
  });
}
