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
import { TurnAbort } from "../../lib/abort.ts";
import type { BusMessage } from "../../ports/cluster.ts";
import type { Conversations } from "../../ports/conversation.ts";
import { requesterOf, type TurnRecord } from "../../ports/turn.ts";
import { fieldsOf } from "../turn/turn-store.ts";
import { createEnding, type EndingOptions, isStillWaiting, turnsOf } from "./active-turns.ts";
import { consistsOf, createInbox } from "./inbox.ts";
import { createScheduler } from "./scheduler.ts";
import { createTurnStarter, type TurnStarterOptions } from "./start-turn.ts";
import { createWorker, type WorkerOptions } from "./worker.ts";

/**
 * What happens to a message that comes while a turn of the same person runs: the next turn, the running turn's next step, or
 * instead of it. What others say becomes a turn of its own afterwards.
 */
export type Overlap = "queue" | "steer" | "interrupt";

export interface ConversationsOptions
  extends Omit<WorkerOptions, "messages" | "nextNew">,
    EndingOptions,
    Pick<TurnStarterOptions, "workingFolder"> {
  /** False: this process keeps messages and wakes turns, and others work on them. */
  takesTurns: boolean;
  /** Between looks for turns that nobody works on, in milliseconds; each goes through all that goes on. */
  resumeOrphansEveryMs: number;
  overlap: Overlap;
  /** Turns that run at once, over all conversations. */
  concurrency: number;
}

/** A message that nobody has taken for so long is not going to be, as things are. */
const unattendedMs = 30_000;
const warnEveryMs = 60_000;

export function createConversations(options: ConversationsOptions): Conversations {
  const { ledger, events, bus } = options;
  const messages = createInbox(ledger);
  const endAll = createEnding({ ledger, bus, cancelApprovals: options.cancelApprovals });
  const nextNew = createTurnStarter({ ledger, messages, events, workingFolder: options.workingFolder });
  const work = createWorker({ ...options, messages, nextNew });
  const lanes = createScheduler(options.concurrency, work);
  const unlisten = bus.listen(hear);
  let tookUpAt = 0;
  let warnedAt = 0;

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

  async function wake(turnId: string): Promise<void> {
    const entry = await ledger.get("turn", turnId);
    if (entry === undefined) return;
    const hasEnded = entry.state !== "parked" && entry.state !== "running";
    // People may have decided what becomes of its changes; that is done in the conversation's order as well.
    if (!hasEnded) events.emit("turn.resumed", { ...fieldsOf(entry.body), because: "answer" });
    bus.publish({ type: "work", conversationId: entry.body.conversationId, turnId });
  }

  /** Turns that nobody works on although somebody should: their process died, or the word that woke them was lost. */
  async function takeUp(because: "answer" | "restart"): Promise<void> {
    // Looked for before the turns: whatever is taken was part of a turn by then.
    const taken = await messages.taken();
    // In one look: in between, one that is parked may begin to run.
    const turns = await ledger.list("turn", { states: ["running", "parked"] });
    const activeTurnIds = new Set(turns.flatMap(({ body }) => body.messages.map((message) => message.id)));
    // Their turn came to its end, and its process too, before it could say so of them.
    await messages.answered(taken.filter((message) => !activeTurnIds.has(message.id)));
    for (const { body } of turns.filter(({ state }) => state === "running")) {
      if (lanes.isBusy(body.conversationId)) continue;
      // Also where a crash came between the writing of the turn and the taking of its messages.
      await messages.take(body.messages);
      if (because === "restart") events.emit("turn.resumed", { ...fieldsOf(body), because });
      lanes.wake(body.conversationId, body.id);
    }
    for (const { body } of turns.filter(({ state }) => state === "parked")) {
      if (body.abort !== undefined || !(await isStillWaiting(ledger, body))) await wake(body.id);
    }
  }

  async function sweep(now = Date.now()): Promise<void> {
    if (!options.takesTurns) return await warnOfWaiting(now);
    for (const conversationId of await messages.waitingConversations()) lanes.pump(conversationId);
    // A clock that was set back must not put it off for longer than it takes.
    if (now >= tookUpAt && now - tookUpAt < options.resumeOrphansEveryMs) return;
    tookUpAt = now;
    await takeUp("answer");
  }

  /** Where others work on what comes in, nobody else would say that there are none. */
  async function warnOfWaiting(now: number): Promise<void> {
    if (now >= warnedAt && now - warnedAt < warnEveryMs) return;
    const [oldest] = await ledger.list("message", { states: ["queued"], limit: 1 });
    if (oldest === undefined || now - oldest.createdAt < unattendedMs) return;
    // In a conversation that is worked on, what comes meanwhile waits as well.
    if ((await turnsOf(ledger, oldest.group, ["running"])).length > 0) return;
    warnedAt = now;
    const waitsForMs = now - oldest.createdAt;
    options.log.warn(
      { conversationId: oldest.group, waitsForMs },
      "a message waits and no worker takes it; see that one runs (--role worker), with this service's token and this ledger",
    );
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
        const running = await turnsOf(ledger, conversationId, ["running"]);
        // Another process may have been quick: a turn that has read the message is not in its way.
        const others = running.filter((turn) => turn.messages.every(({ id }) => id !== message.id));
        const own = others.filter((turn) => requesterOf(turn).id === message.author.id);
        await endAll(own, "interrupted");
      }
      bus.publish({ type: "work", conversationId });
    },
    async takeSteering(turnId, conversationId) {
      if (options.overlap !== "steer") return [];
      const { turn: running } = lanes.running(conversationId) ?? {};
      if (running?.owner === undefined) return [];
      const { owner } = running;
      const asker = requesterOf(running);
      const said = (await messages.queued(conversationId)).filter(({ author }) => author.id === asker.id);
      if (said.length === 0) return [];
      const kept = await ledger.transition("turn", turnId, ["running"], "running", (turn) =>
        turn.owner === owner ? { ...turn, messages: [...turn.messages, ...said] } : undefined,
      );
      // Whoever has the turn now knows nothing of what this run would take.
      return kept === undefined ? [] : await messages.take(said);
    },
    wake,
    stop: async (conversationId) => await endAll(await turnsOf(ledger, conversationId), "stopped"),
    async stopFor(message) {
      const turns = await turnsOf(ledger, message.conversationId);
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
      const turns = await turnsOf(ledger, message.conversationId);
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
    async activeTurnIds() {
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
