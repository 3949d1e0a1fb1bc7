/**
 * Makes turns from accepted messages: one turn at a time in each conversation, many conversations in parallel.
 *
 *   accept    store the message durably, then schedule its conversation
 *   wake      resume a parked turn after an answer or an expiry
 *   stop      end the running and parked turns of a conversation, and the requests that wait for a turn
 *   recover   at startup, resume orphaned turns and start turns from stored messages
 *
 * A parked turn does not block its conversation. A message leaves the queue only when a turn takes it, its author
 * deletes it, or somebody stops it. Several processes can share one ledger: only the holder of a conversation's lease
 * works on it. A worker also claims each turn so that a process without the lease can't write to it. Bus messages only
 * make work start earlier.
 */
import { TurnAbort } from "../../lib/abort.ts";
import { elapsedSince } from "../../lib/elapsed.ts";
import { messageOf } from "../../lib/errors.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
import type { BusMessage } from "../../ports/cluster.ts";
import type { Conversations } from "../../ports/conversation.ts";
import type { LedgerEntry } from "../../ports/ledger.ts";
import { type Author, type InboundMessage, messageKey } from "../../ports/message.ts";
import { requesterOf, type TurnRecord } from "../../ports/turn.ts";
import { turnFields } from "../turn/turn-store.ts";
import { activeTurns, createTurnEnder, isWaitingForApproval, type TurnEnderOptions } from "./active-turns.ts";
import { createInbox, hasOnlyMessage } from "./inbox.ts";
import { createLeftMessages } from "./left-messages.ts";
import { createPostponed } from "./postponed.ts";
import { createScheduler } from "./scheduler.ts";
import { createTurnStarter, type TurnStarterOptions } from "./start-turn.ts";
import { createQueueStopper } from "./stop-queued.ts";
import { createWaitingRoom, minWaitMs, type WaitingRoomOptions } from "./waiting-room.ts";
import { createWorker, type WorkerOptions } from "./worker.ts";

/** During a turn, a new message by its author waits, joins the next step, or replaces the turn. Other messages wait. */
export type Overlap = "queue" | "steer" | "interrupt";

export interface ConversationsOptions
  extends Omit<WorkerOptions, "messages" | "startNextTurn" | "postponed" | "onStorageFault">,
    TurnEnderOptions,
    Pick<TurnStarterOptions, "workingFolder"> {
  /** If false, this process stores messages and wakes turns, but other processes run the turns. */
  takesTurns: boolean;
  /** Interval between searches for orphaned turns. Each search reads all running turns, and parked turns that were woken. */
  resumeOrphansEveryMs: number;
  overlap: Overlap;
  concurrency: number;
  /** Reads a message again at its service, and stores an edit or a deletion. Never rejects. */
  lookAgain(message: InboundMessage): Promise<void>;
  /** Opens the reply of a queued request. Undefined if this process can't write there. */
  openReply: WaitingRoomOptions["openReply"];
  minWaitMs?: WaitingRoomOptions["minWaitMs"];
}

/** A message that waits longer suggests that no worker is running. */
const maxUnattendedMs = 30_000;
const minWarningIntervalMs = 60_000;
/** Interval between searches that read all active turns, for what a crash left between two writes. */
const searchAllEveryMs = 60_000;

export function createConversations(options: ConversationsOptions): Conversations {
  const { ledger, events, bus } = options;
  const messages = createInbox(ledger);
  const endTurns = createTurnEnder({ ledger, bus, cancelApprovals: options.cancelApprovals });
  const left = createLeftMessages(options.lookAgain);
  const { workingFolder } = options;
  const startNextTurn = createTurnStarter({ ledger, messages, events, workingFolder, lookAgain: left.lookAgain });
  const waitingRoom = createWaitingRoom({
    minWaitMs: () => minWaitMs,
    ...options,
    isSteering: options.overlap === "steer",
  });
  const stopQueued = createQueueStopper(ledger, messages, waitingRoom);
  /** Aborts at a shutdown. Turns that are about to run see it as well. */
  const suspended = new AbortController();
  const run: WorkerOptions["run"] = async (turn, signal, isLost) => {
    await waitingRoom.release(turn);
    return await options.run(turn, AbortSignal.any([signal, suspended.signal]), isLost);
  };
  const postponed = createPostponed((conversationId) => scheduler.schedule(conversationId));
  const worker = createWorker({ ...options, run, messages, startNextTurn, postponed, onStorageFault: searchSoon });
  const scheduler = createScheduler(options.concurrency, worker);
  const unlisten = bus.listen(hear);
  let orphansResumedAt = 0;
  let searchedAllAt = Number.NEGATIVE_INFINITY;
  let warnedAt = 0;

  function hear(message: BusMessage): void {
    if (!options.takesTurns) return;
    if (message.type === "work") {
      const { conversationId, turnId, person } = message;
      if (turnId === undefined) scheduler.schedule(conversationId, person);
      else scheduler.wake(conversationId, turnId, person);
    }
    if (message.type === "abort") {
      const running = scheduler.running(message.conversationId);
      if (running === undefined || running.turn.id !== message.turnId) return;
      running.controller.abort(new TurnAbort(message.cause));
    }
  }

  async function wake(turnId: string): Promise<void> {
    // The mark remains if the message on the bus is lost.
    const woken = (turn: TurnRecord) => ({ ...turn, wokenAt: Date.now() });
    const marked = ledger.transition("turn", turnId, ["parked"], "parked", woken);
    const entry = (await marked.catch(searchSoonIfTransient)) ?? (await ledger.get("turn", turnId));
    if (entry === undefined) return;
    const hasEnded = entry.state !== "parked" && entry.state !== "running";
    // If the turn has ended, the worker only settles the changes that people have decided on.
    if (!hasEnded) events.emit("turn.resumed", { ...turnFields(entry.body), because: "answer" });
    publishWork(entry.body);
  }

  /** The next sweep searches all turns, because a write that failed may have left something. */
  function searchSoon(): void {
    searchedAllAt = Number.NEGATIVE_INFINITY;
  }

  function searchAndThrow(thrown: unknown): never {
    searchSoon();
    throw thrown;
  }

  /** Storage that refuses writes for a while must not keep the process from starting, or from waking turns. */
  function searchSoonIfTransient(thrown: unknown): undefined {
    searchSoon();
    if (!isTransientStorageError(thrown)) throw thrown;
    options.log.warn({ error: messageOf(thrown) }, "storage refuses or is away; trying again soon");
  }

  function publishWork(turn: TurnRecord): void {
    const person = personOf(turn.target.platform, requesterOf(turn));
    bus.publish({ type: "work", conversationId: turn.conversationId, turnId: turn.id, person });
  }

  /** Resumes turns whose process has died, or whose wake-up message on the bus was lost. */
  async function resumeOrphans(): Promise<void> {
    await resumeRunning(await ledger.list("turn", { states: ["running"] }), "answer");
    for (const { body } of await ledger.list("turn", { dueBefore: Date.now() + 1 })) publishWork(body);
  }

  /** Also finds what no process has marked: messages of ended turns, and turns answered while they were being parked. */
  async function searchAll(because: "answer" | "restart"): Promise<void> {
    // Read the messages before the turns so that no active turn of a taken message is missing below.
    const taken = await messages.taken();
    // Read in one query, because a parked turn may start to run between two queries.
    const turns = await ledger.list("turn", { states: ["running", "parked"] });
    const activeTurnIds = new Set(turns.flatMap(({ body }) => (body.messages ?? []).map((message) => message.id)));
    // The turn of these messages ended, but its process died before it marked them as answered.
    await messages.answered(taken.filter((message) => !activeTurnIds.has(message.id)));
    await resumeRunning(
      turns.filter(({ state }) => state === "running"),
      because,
    );
    for (const { body } of turns.filter(({ state }) => state === "parked")) {
      if (body.abort !== undefined || !(await isWaitingForApproval(ledger, body))) await wake(body.id);
    }
  }

  async function resumeRunning(turns: LedgerEntry<"turn">[], because: "answer" | "restart"): Promise<void> {
    for (const { id, body } of turns) {
      if (scheduler.isBusy(body.conversationId)) continue;
      try {
        // Take the messages again: the process may have crashed before it took them.
        await messages.take(body.messages);
        if (because === "restart") events.emit("turn.resumed", { ...turnFields(body), because });
        scheduler.wake(body.conversationId, body.id, personOf(body.target.platform, requesterOf(body)));
      } catch (thrown) {
        if (isTransientStorageError(thrown)) throw thrown;
        options.log.error({ turnId: id, error: messageOf(thrown) }, "could not resume a turn; the others go on");
      }
    }
  }

  async function sweep(now = Date.now()): Promise<void> {
    waitingRoom.tellStopped();
    if (!options.takesTurns) return await warnOfUnattended(now);
    for (const [conversationId, first] of await messages.waitingConversations())
      scheduler.schedule(conversationId, personOf(first.platform, first.author));
    if (elapsedSince(orphansResumedAt, now) < options.resumeOrphansEveryMs) return;
    orphansResumedAt = now;
    if (elapsedSince(searchedAllAt, now) < searchAllEveryMs) return await resumeOrphans();
    searchedAllAt = now;
    await searchAll("answer").catch(searchAndThrow);
  }

  /** In a process without workers, warns if no other process takes messages. */
  async function warnOfUnattended(now: number): Promise<void> {
    if (elapsedSince(warnedAt, now) < minWarningIntervalMs) return;
    const [oldest] = await ledger.list("message", { states: ["queued"], limit: 1 });
    if (oldest === undefined || now - oldest.createdAt < maxUnattendedMs) return;
    // Don't warn while a turn of the conversation runs, because messages wait for it.
    if ((await activeTurns(ledger, oldest.group, ["running"])).length > 0) return;
    warnedAt = now;
    const waitsForMs = now - oldest.createdAt;
    options.log.warn(
      { conversationId: oldest.group, waitsForMs },
      "a message waits and no worker takes it; start one (--role worker) with this service's token and this ledger",
    );
  }

  return {
    async accept(message) {
      if (!(await messages.keep(message))) {
        await messages.learn(message);
        return false;
      }
      events.emit("message.received", {
        messageId: message.id,
        platform: message.platform,
        conversationId: message.conversationId,
        userId: message.author.id,
        characters: message.text.length,
      });
      const { conversationId } = message;
      if (options.overlap === "interrupt" && message.askAgain === undefined) {
        const running = await activeTurns(ledger, conversationId, ["running"]);
        // Another process may already have started a turn with this message.
        const others = running.filter((turn) => turn.messages.every(({ id }) => id !== message.id));
        const own = others.filter((turn) => requesterOf(turn).id === message.author.id);
        await endTurns(own, "interrupted");
      }
      bus.publish({ type: "work", conversationId, person: personOf(message.platform, message.author) });
      waitingRoom.watch();
      return true;
    },
    async takeSteering(turnId, conversationId) {
      if (options.overlap !== "steer") return [];
      const { turn: running } = scheduler.running(conversationId) ?? {};
      if (running?.owner === undefined) return [];
      const { owner } = running;
      const asker = requesterOf(running);
      const said = (await messages.queued(conversationId)).filter(
        ({ author, askAgain }) => author.id === asker.id && askAgain === undefined,
      );
      if (said.length === 0) return [];
      const kept = await ledger.transition("turn", turnId, ["running"], "running", (turn) =>
        turn.owner === owner ? { ...turn, messages: [...turn.messages, ...said] } : undefined,
      );
      // If another worker has claimed the turn, this run must not take the messages.
      return kept === undefined ? [] : await messages.take(said);
    },
    wake,
    async stop(conversationId, saidBy = Number.POSITIVE_INFINITY) {
      const isMeant = ({ at }: InboundMessage) => at <= saidBy;
      const queued = await stopQueued(isMeant, conversationId);
      const turns = await activeTurns(ledger, conversationId);
      return (
        queued +
        (await endTurns(
          turns.filter((turn) => turn.messages.every(isMeant)),
          "stopped",
        ))
      );
    },
    async stopTurn(turnId) {
      const entry = await ledger.get("turn", turnId);
      return entry !== undefined && (await endTurns([entry.body], "stopped")) === 1;
    },
    async stopFor(message) {
      const { id, conversationId, author, at } = message;
      const isEarlier = (other: InboundMessage) => other.author.id === author.id && other.id !== id && other.at <= at;
      const queued = await stopQueued(isEarlier, conversationId);
      const turns = await activeTurns(ledger, conversationId);
      if (turns.length === 0 && queued === 0) return false;
      const isNew = await messages.keepAnswered(message);
      // A repeated delivery of an old `stop` must not end newer turns.
      const isMeant = (turn: TurnRecord) => isNew || turn.messages.every((other) => other.at <= at);
      await endTurns(turns.filter(isMeant), "stopped");
      return true;
    },
    async stopBeside(message) {
      const { conversationId, isInThread, platform, scope, author, at } = message;
      const begun = await ledger.list("turn", { group: conversationId, limit: 1 });
      if (isInThread === true || begun.length > 0) return 0;
      const isEarlier = (other: InboundMessage) =>
        other.platform === platform &&
        other.scope === scope &&
        other.author.id === author.id &&
        other.at < at &&
        other.conversationId !== conversationId;
      const queued = await stopQueued(isEarlier);
      const entries = await ledger.list("turn", { states: ["running", "parked"] });
      // All of its messages: a repeated delivery of an old `stop` must not end newer turns.
      const isMeant = ({ messages: asked }: TurnRecord) => asked.length > 0 && asked.every(isEarlier);
      const turns = entries.map(({ body }) => body).filter(isMeant);
      if (turns.length + queued > 0) await messages.keepAnswered(message);
      return queued + (await endTurns(turns, "stopped"));
    },
    async stopScope(scope) {
      const queued = await stopQueued((message) => message.scope === scope);
      const entries = await ledger.list("turn", { states: ["running", "parked"] });
      const inScope = entries.map((entry) => entry.body).filter((turn) => turn.scope === scope);
      return queued + (await endTurns(inScope, "stopped"));
    },
    async edit(key, text, attachments) {
      const taken = await messages.edit(key, text, attachments);
      if (taken === undefined) return false;
      const { changed } = taken.message;
      // What only came later makes no call wrong.
      if (taken.isAnswered || changed === undefined || changed.wordsAt !== changed.at) return true;
      for (const { id, messages: asked } of await activeTurns(ledger, taken.message.conversationId)) {
        if (!asked.some((one) => messageKey(one.platform, one.id) === key)) continue;
        await options.cancelApprovals(id, "The request was edited. Ask again if you still need it.");
        await wake(id);
      }
      return true;
    },
    unanswered: messages.unanswered,
    async remove(key) {
      const taken = await messages.withdraw(key);
      if (taken === undefined) return false;
      if (taken.isAnswered) return true;
      const turns = (await activeTurns(ledger, taken.message.conversationId)).filter(({ messages: asked }) =>
        asked.some((one) => messageKey(one.platform, one.id) === key),
      );
      const { only = [], others = [] } = Object.groupBy(turns, (turn) =>
        hasOnlyMessage(turn, key) ? "only" : "others",
      );
      await endTurns(only, "withdrawn");
      for (const { id } of others) {
        await options.cancelApprovals(id, "A message of the request was deleted. Ask again if you still need it.");
        await wake(id);
      }
      return true;
    },
    async recover() {
      waitingRoom.watch();
      if (!options.takesTurns) return;
      left.note(await messages.allQueued().catch(() => []));
      orphansResumedAt = searchedAllAt = Date.now();
      await searchAll("restart")
        .then(() => sweep(orphansResumedAt))
        .catch(searchSoonIfTransient);
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
    whenIdle: scheduler.whenIdle,
    async close(overdue) {
      unlisten();
      postponed.close();
      const suspend = () => suspended.abort(new TurnAbort("shutdown"));
      if (overdue.aborted) suspend();
      else overdue.addEventListener("abort", suspend, { once: true });
      // In parallel, because a queue line may wait for its service as long as a turn.
      await Promise.all([waitingRoom.close(), scheduler.close()]);
    },
  };
}

function personOf(platform: string, { id }: Author): string {
  return `${platform}:${id}`;
}
