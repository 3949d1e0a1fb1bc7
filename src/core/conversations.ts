/**
 * Conversations: what was accepted becomes turns, one at a time in each conversation, many conversations side by side.
 *
 *   accept   keep the message durably, then see to its conversation
 *   wake     a person has answered, or an approval has expired: the parked turn goes on in its conversation's lane
 *   stop     end what runs and what waits in a conversation, now
 *   recover  after a start: running turns go on from their journal, kept messages become turns
 *
 * A lane is the order of work in one conversation. While a turn is parked its lane is free. Nothing is dropped: a message
 * leaves the ledger's queue only by becoming part of a turn or by being deleted by its author.
 *
 * Several processes may work on one ledger. A conversation's lane runs where its lease is held; whoever takes up a turn
 * makes itself its owner, so that a process that lost its lease without noticing can't write into it any more. Words on the
 * bus save waiting for the next sweep, and nothing depends on them.
 */
import { randomUUID } from "node:crypto";
import { type AbortCause, TurnAbort } from "./abort.ts";
import type { Bus, BusMessage, Leases } from "./coordination.ts";
import { messageOf, RemoraError } from "./errors.ts";
import type { Events } from "./events.ts";
import { fieldsOf, saveTurn, TurnLost } from "./journal.ts";
import { createLanes, type Lane } from "./lanes.ts";
import type { Ledger } from "./ledger.ts";
import type { Log } from "./log.ts";
import type { InboundMessage, Scope } from "./message.ts";
import { consistsOf, createMessageQueue, turnIdFor } from "./message-queue.ts";
import { isLedgerAway, type TurnEnd } from "./run-turn.ts";
import type { TurnRecord, TurnState } from "./turn.ts";

/** What happens to a message that comes while a turn runs: the next turn, the running turn's next step, or instead of it. */
export type Overlap = "queue" | "steer" | "interrupt";

export interface ConversationsOptions {
  ledger: Ledger;
  events: Events;
  log: Log;
  leases: Leases;
  bus: Bus;
  /** False: this process keeps messages and wakes turns, and others work on them. */
  takesTurns: boolean;
  /** Between looks for turns that nobody works on, in milliseconds; each goes through all that goes on. */
  takeUpEveryMs: number;
  /** Whether this process can answer there; false leaves the conversation to others. */
  serves(conversationId: string): Promise<boolean>;
  overlap: Overlap;
  /** Turns that run at once, over all conversations. */
  concurrency: number;
  run(turn: TurnRecord, signal: AbortSignal): Promise<TurnEnd>;
  /** Told when `run` threw, which is a bug: people must see that it failed. */
  onCrash(turn: TurnRecord, thrown: unknown): Promise<void>;
  /** From now on no answer counts for what this turn waits for. */
  cancelApprovals(turnId: string): Promise<void>;
  workingFolder(conversationId: string, scope: Scope): string;
}

export interface ConversationsStatus {
  running: number;
  parked: number;
  queued: number;
}

export interface Conversations {
  /** Resolves when the message is durably kept. The same message again changes nothing. */
  accept(message: InboundMessage): Promise<void>;
  /** With `overlap: steer`: takes what was said meanwhile into the running turn. */
  takeSteering(turnId: string, conversationId: string): Promise<InboundMessage[]>;
  wake(turnId: string): Promise<void>;
  /** Returns how many turns it ended. */
  stop(conversationId: string): Promise<number>;
  /** The same for a message that says no more than that; false, and it is not kept, when there is nothing to end. */
  stopFor(message: InboundMessage): Promise<boolean>;
  /** The same for all conversations of a scope, as the threads of a channel. */
  stopScope(scope: Scope): Promise<number>;
  /** A message that is still queued is replaced or removed; one that is being worked on is left alone (edit) or stopped (delete). */
  edit(messageKey: string, text: string): Promise<void>;
  remove(messageKey: string): Promise<void>;
  recover(): Promise<void>;
  /** Sees to what nobody works on: messages that could not be before, as when the disk was full, and turns of a process that died. */
  sweep(now?: number): Promise<void>;
  /** Ids of the turns that have not ended. */
  goingOn(): Promise<ReadonlySet<string>>;
  /** Of one conversation, of all conversations of a scope, or of all. */
  status(where?: { conversationId?: string; scope?: Scope }): Promise<ConversationsStatus>;
  /** Resolves when no lane has work. */
  whenIdle(): Promise<void>;
  /** Takes nothing new; running turns are given `graceMs`, then suspended for the next start. */
  close(graceMs: number): Promise<void>;
}

export function createConversations(options: ConversationsOptions): Conversations {
  const { ledger, events, log, leases, bus } = options;
  const messages = createMessageQueue(ledger);
  const lanes = createLanes(options.concurrency, work);
  const unlisten = bus.listen(hear);
  let tookUpAt = 0;

  function hear(message: BusMessage): void {
    if (!options.takesTurns) return;
    if (message.type === "work") {
      if (message.turnId === undefined) lanes.pump(message.conversationId);
      else lanes.wake(message.conversationId, message.turnId);
    }
    if (message.type === "abort") {
      const running = lanes.running(message.conversationId);
      if (running === undefined || running.turn.id !== message.turnId) return;
      running.controller.abort(new TurnAbort(message.cause));
    }
  }

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
    if (!(await options.serves(conversationId))) return false;
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
    const running = await turnsOf(conversationId, ["running"]);
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
      const end = await options.run(turn, controller.signal);
      if (end === "done" || end === "failed" || end === "stopped") await messages.answered(turn.messages);
      if (end === "parked" && !(await isStillWaiting(turn))) lane.wakes.push(turn.id);
      if (end === "suspended") await giveBack(lane);
    } catch (thrown) {
      // Here or elsewhere, whoever has the lease next goes on with it before anything new.
      if (isLedgerAway(thrown)) await giveBack(lane);
      else if (!(thrown instanceof TurnLost)) await crashed(turn, thrown);
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
    await options
      .onCrash(turn, thrown)
      .catch((again) => log.error({ error: messageOf(again) }, "the failure could not be shown"));
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
    }
    return undefined;
  }

  /**
   * Everything that waits in the conversation becomes one turn. The turn is written before its messages are taken: a crash
   * in between loses nothing, and makes no second turn of them, because the first message gives the turn its id.
   */
  async function nextNew(conversationId: string): Promise<TurnRecord | undefined> {
    const waiting = await messages.queued(conversationId);
    const [first] = waiting;
    const newest = waiting.at(-1);
    if (first === undefined || newest === undefined) return undefined;
    const id = turnIdFor(first);
    const planned: TurnRecord = {
      id,
      conversationId,
      scope: newest.scope,
      messages: waiting,
      target: { platform: newest.platform, conversationId, turnId: id, messageId: newest.id },
      workingFolder: options.workingFolder(conversationId, newest.scope),
      steps: [],
      startedAt: Date.now(),
      isDelivered: false,
    };
    await ledger.create("turn", id, { state: "running", body: planned, group: conversationId });
    const turn = await withTaken(id);
    if (turn === undefined) return await nextNew(conversationId);
    events.emit("turn.started", { ...fieldsOf(turn), messages: turn.messages.length });
    return turn;
  }

  /** What was edited or withdrawn at the last moment is so in the turn as well; a turn of nothing ends before it began. */
  async function withTaken(turnId: string): Promise<TurnRecord | undefined> {
    const entry = await ledger.get("turn", turnId);
    const taken = await messages.take(entry?.body.messages ?? []);
    const state = taken.length === 0 ? "stopped" : "running";
    const kept = await ledger.transition("turn", turnId, ["running"], state, (turn) =>
      taken.length === 0 ? { ...turn, endedAt: Date.now() } : { ...owned(turn), messages: taken },
    );
    if (kept?.state === "running") return kept.body;
    await messages.answered(taken);
    return undefined;
  }

  /** The answer may have come while the turn was parking; then nobody else will wake it. */
  async function isStillWaiting(turn: TurnRecord): Promise<boolean> {
    const approvals = await ledger.list("approval", { states: ["open"], group: turn.id });
    return approvals.length > 0;
  }

  async function wake(turnId: string): Promise<void> {
    const entry = await ledger.get("turn", turnId);
    if (entry === undefined || (entry.state !== "parked" && entry.state !== "running")) return;
    events.emit("turn.resumed", { ...fieldsOf(entry.body), because: "answer" });
    bus.publish({ type: "work", conversationId: entry.body.conversationId, turnId });
  }

  /** Turns that nobody works on although somebody should: their process died, or the word that woke them was lost. */
  async function takeUp(because: "answer" | "restart"): Promise<void> {
    // Looked for before the turns: whatever is taken was part of a turn by then.
    const taken = await messages.taken();
    // In one look: in between, one that is parked may begin to run.
    const turns = await ledger.list("turn", { states: ["running", "parked"] });
    const goingOn = new Set(turns.flatMap(({ body }) => body.messages.map((message) => message.id)));
    // Their turn came to its end, and its process too, before it could say so of them.
    await messages.answered(taken.filter((message) => !goingOn.has(message.id)));
    for (const { body } of turns.filter(({ state }) => state === "running")) {
      if (lanes.isBusy(body.conversationId)) continue;
      // Also where a crash came between the writing of the turn and the taking of its messages.
      await messages.take(body.messages);
      if (because === "restart") events.emit("turn.resumed", { ...fieldsOf(body), because });
      lanes.wake(body.conversationId, body.id);
    }
    for (const { body } of turns.filter(({ state }) => state === "parked")) {
      if (body.abort !== undefined || !(await isStillWaiting(body))) await wake(body.id);
    }
  }

  async function sweep(now = Date.now()): Promise<void> {
    if (!options.takesTurns) return;
    for (const conversationId of await messages.waitingConversations()) lanes.pump(conversationId);
    // A clock that was set back must not put it off for longer than it takes.
    if (now >= tookUpAt && now - tookUpAt < options.takeUpEveryMs) return;
    tookUpAt = now;
    await takeUp("answer");
  }

  /** The ledger says so for whoever runs the turn, or takes it up next; the bus says it at once. */
  async function end({ id: turnId, conversationId }: TurnRecord, cause: AbortCause): Promise<boolean> {
    const marked = (turn: TurnRecord) => ({ ...turn, abort: cause });
    if ((await ledger.transition("turn", turnId, ["running"], "running", marked)) !== undefined) {
      bus.publish({ type: "abort", conversationId, turnId, cause });
      return true;
    }
    if ((await ledger.transition("turn", turnId, ["parked"], "parked", marked)) === undefined) return false;
    await options.cancelApprovals(turnId);
    // It ends in its lane, as a running one does.
    bus.publish({ type: "work", conversationId, turnId });
    return true;
  }

  async function endAll(turns: readonly TurnRecord[], cause: AbortCause): Promise<number> {
    const ended = await Promise.all(turns.map((turn) => end(turn, cause)));
    return ended.filter(Boolean).length;
  }

  async function turnsOf(conversationId: string, states: TurnState[] = ["running", "parked"]): Promise<TurnRecord[]> {
    const entries = await ledger.list("turn", { states, group: conversationId });
    return entries.map((entry) => entry.body);
  }

  return {
    async accept(message) {
      if (!(await messages.keep(message))) return;
      events.emit("message.received", {
        messageId: message.id,
        platform: message.platform,
        conversationId: message.conversationId,
        userId: message.author.id,
        characters: message.text.length,
      });
      const { conversationId } = message;
      if (options.overlap === "interrupt") {
        const running = await turnsOf(conversationId, ["running"]);
        // Another process may have been quick: a turn that has read the message is not in its way.
        const others = running.filter((turn) => turn.messages.every(({ id }) => id !== message.id));
        await endAll(others, "interrupted");
      }
      bus.publish({ type: "work", conversationId });
    },
    async takeSteering(turnId, conversationId) {
      if (options.overlap !== "steer") return [];
      const said = await messages.queued(conversationId);
      const owner = lanes.running(conversationId)?.turn.owner;
      if (said.length === 0 || owner === undefined) return [];
      const kept = await ledger.transition("turn", turnId, ["running"], "running", (turn) =>
        turn.owner === owner ? { ...turn, messages: [...turn.messages, ...said] } : undefined,
      );
      // Whoever has the turn now knows nothing of what this run would take.
      return kept === undefined ? [] : await messages.take(said);
    },
    wake,
    stop: async (conversationId) => await endAll(await turnsOf(conversationId), "stopped"),
    async stopFor(message) {
      const turns = await turnsOf(message.conversationId);
      if (turns.length === 0) return false;
      const isNew = await messages.keepAnswered(message);
      // Delivered again, it does not mean what was said after it.
      const isMeant = (turn: TurnRecord) => isNew || turn.messages.every(({ at }) => at <= message.at);
      await endAll(turns.filter(isMeant), "stopped");
      return true;
    },
    async stopScope(scope) {
      const entries = await ledger.list("turn", { states: ["running", "parked"] });
      const inScope = entries.map((entry) => entry.body).filter((turn) => turn.scope === scope);
      return await endAll(inScope, "stopped");
    },
    edit: messages.edit,
    async remove(key) {
      const message = await messages.withdraw(key);
      if (message === undefined) return;
      const turns = await turnsOf(message.conversationId);
      await endAll(
        turns.filter((turn) => consistsOf(turn, key)),
        "stopped",
      );
    },
    async recover() {
      if (!options.takesTurns) return;
      await takeUp("restart");
      tookUpAt = Date.now();
      await sweep(tookUpAt);
    },
    sweep,
    async goingOn() {
      const entries = await ledger.list("turn", { states: ["running", "parked"] });
      return new Set(entries.map((entry) => entry.id));
    },
    async status({ conversationId, scope } = {}) {
      const group = conversationId === undefined ? {} : { group: conversationId };
      const entries = await Promise.all([
        ledger.list("turn", { states: ["running"], ...group }),
        ledger.list("turn", { states: ["parked"], ...group }),
        ledger.list("message", { states: ["queued"], ...group }),
      ]);
      const [running, parked, queued] = entries.map(
        (found) => found.filter(({ body }) => scope === undefined || body.scope === scope).length,
      );
      return { running: running ?? 0, parked: parked ?? 0, queued: queued ?? 0 };
    },
    whenIdle: lanes.whenIdle,
    async close(graceMs) {
      unlisten();
      await lanes.close(graceMs);
    },
  };
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

/** A claim: from now on nobody else's run of it counts. */
function owned(turn: TurnRecord): TurnRecord {
  return { ...turn, owner: randomUUID() };
}
