/**
 * Tells people how long the queue before their request is: "Waiting: 3 requests before yours". The line is the beginning of the
 * reply that the request will get, so the reply replaces it, also in another process or after a crash. If the answer before it
 * has continued below the line, for example below a question, the line goes away, and the reply begins further down. Requests
 * that start soon get no line. A lease lets only one process write each line; the turn starts to write when the line is released.
 */
import { pause } from "../../lib/backoff.ts";
import { elapsedSince, leftOf } from "../../lib/elapsed.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import type { Lease, Leases } from "../../ports/cluster.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { messageKey, type ReplyTarget } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import type { Delivery } from "../../ports/turn-deps.ts";
import { isOvertaken } from "./overtaken.ts";
import { placesInQueue, type WaitingRequest } from "./places-in-queue.ts";
import { createStoppedRequests } from "./tell-stopped.ts";

export interface WaitingRoom {
  /** Call this when a request was queued. */
  watch(): void;
  /** Resolves when no line is being written for this turn, and none stands above an earlier answer. Never rejects. */
  release(turn: TurnRecord): Promise<void>;
  /** Call this when queued requests were stopped, and in every sweep. Their replies then say so, in the background. */
  tellStopped(): void;
  close(): Promise<void>;
}

export interface WaitingRoomOptions {
  ledger: Ledger;
  leases: Leases;
  /** Undefined if this process can't write there. */
  openReply(target: ReplyTarget): Promise<Delivery | undefined>;
  /** A shorter wait shows no line. */
  minWaitMs(platform: string): number;
  /** New messages of the running turn's requester join that turn. */
  isSteering: boolean;
  log: Log;
}

interface Line {
  firstMessageKey: string;
  delivery: Delivery;
  lease: Lease;
  text: string;
  shownAt: number;
}

export const minWaitMs = 2_000;
const stoppedText = "Stopped.";
const checkEveryMs = 2_000;
const minUpdateGapMs = 5_000;
const maxLines = 50;
const maxReleased = 1_000;
/** Longer than a line is tried while its service is away: it would overwrite the answer. */
const maxReleaseMs = 60_000;
const releasePollMs = 100;

export function createWaitingRoom(options: WaitingRoomOptions): WaitingRoom {
  const { ledger, leases, log } = options;
  const lines = new Map<string, Line>();
  const released = createLruMap<true>(maxReleased);
  const stopped = createStoppedRequests({ ledger, log, show: showStopped });
  let listing = Promise.resolve();
  const closed = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let checking: Promise<void> | undefined;

  function checkIn(ms: number): void {
    if (closed.signal.aborted) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      checking ??= check()
        .catch((thrown: unknown) => {
          log.warn({ error: messageOf(thrown) }, "could not tell people their place in the queue");
          return checkEveryMs;
        })
        .then((nextMs) => {
          checking = undefined;
          if (nextMs !== undefined && timer === undefined) checkIn(nextMs);
        });
    }, ms);
    timer.unref();
  }

  /** Resolves to when to check again, or to undefined if nobody waits. */
  async function check(): Promise<number | undefined> {
    const { requests, waitingTurnIds } = await placesInQueue(ledger, options.isSteering);
    await stopped.begin();
    for (const [turnId, line] of lines)
      if (!waitingTurnIds.has(turnId) && !stopped.isTelling(turnId)) await drop(turnId, line);
    let nextMs = checkEveryMs;
    for (const request of requests) {
      const dueInMs = leftOf(options.minWaitMs(request.target.platform), request.since);
      if (dueInMs > 0) nextMs = Math.min(nextMs, dueInMs);
      else await show(request);
    }
    return waitingTurnIds.size === 0 ? undefined : nextMs;
  }

  async function show(request: WaitingRequest): Promise<void> {
    const { turnId } = request.target;
    const line = lines.get(turnId) ?? (await open(request));
    if (line === undefined || line.text === request.text || elapsedSince(line.shownAt) < minUpdateGapMs) return;
    const entry = await ledger.get("message", line.firstMessageKey);
    if (entry?.state !== "queued" || released.has(turnId)) return;
    Object.assign(line, { text: request.text, shownAt: Date.now() });
    line.delivery.progress({ headline: request.text, current: request.text, isQueued: true, tasks: [] });
  }

  async function open({ target, firstMessageId }: WaitingRequest): Promise<Line | undefined> {
    if (lines.size >= maxLines || released.has(target.turnId)) return undefined;
    const delivery = await options.openReply(target);
    if (delivery === undefined) return undefined;
    const lease = await leases.acquire(leaseOf(target.turnId));
    if (lease === undefined) return undefined;
    // The turn began while the line was being opened, and may be waiting for this lease.
    if (released.has(target.turnId)) {
      await lease.release();
      return undefined;
    }
    const firstMessageKey = messageKey(target.platform, firstMessageId);
    const line: Line = { firstMessageKey, delivery, lease, text: "", shownAt: 0 };
    lines.set(target.turnId, line);
    return line;
  }

  /** A message that was withdrawn, or that joined another turn, gets no answer here, so its line goes away. */
  async function drop(turnId: string, line: Line): Promise<void> {
    const isStarted = (await ledger.get("turn", turnId)) !== undefined;
    if (lines.get(turnId) !== line) return;
    lines.delete(turnId);
    await endReply(line, isStarted).catch((thrown: unknown) =>
      log.warn({ turnId, error: messageOf(thrown) }, "could not remove a line about the queue"),
    );
    await line.lease.release();
  }

  async function endReply({ delivery, text }: Line, isStarted: boolean): Promise<void> {
    await (isStarted || text === "" ? delivery.leave() : delivery.finish("", []));
  }

  async function showStopped(
    target: ReplyTarget,
    isOwed: () => Promise<boolean>,
    settle: () => Promise<void>,
  ): Promise<void> {
    const line = lines.get(target.turnId);
    lines.delete(target.turnId);
    const lease = line?.lease ?? (await leases.acquire(leaseOf(target.turnId)));
    // Another process has the line, and replaces it at its next check.
    if (lease === undefined) return;
    try {
      if (!(await isOwed())) return;
      const delivery = line?.delivery ?? (await options.openReply(target));
      if (delivery === undefined) return;
      await delivery.fail("", stoppedText);
      await settle();
    } finally {
      await lease.release();
    }
  }

  /** A turn that has begun to answer has no line, unless its service accepted nothing so far. */
  async function mayHaveLine({ target, messages: [first], steps, undelivered }: TurnRecord): Promise<boolean> {
    if (steps.length > 0 && undelivered === undefined) return false;
    const queued = await ledger.get("message", messageKey(target.platform, first?.id ?? ""));
    return queued !== undefined && elapsedSince(queued.createdAt) >= options.minWaitMs(target.platform);
  }

  /** Another process may be writing the line, even if nothing is posted yet. It stops at its next check. */
  async function waitForOthers(turnId: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < maxReleaseMs && !closed.signal.aborted; waitedMs += releasePollMs) {
      const lease = await leases.acquire(leaseOf(turnId));
      if (lease !== undefined) return await lease.release();
      await pause(releasePollMs, closed.signal);
    }
  }

  return {
    watch() {
      if (timer === undefined && checking === undefined) checkIn(releasePollMs);
    },
    async release(turn) {
      released.set(turn.id, true);
      try {
        if (!lines.has(turn.id) && !(await mayHaveLine(turn))) return;
        const line = lines.get(turn.id);
        lines.delete(turn.id);
        await line?.delivery.leave().finally(line.lease.release);
        if (line === undefined) await waitForOthers(turn.id);
        if (await isOvertaken(ledger, turn)) await (await options.openReply(turn.target))?.finish("", []);
      } catch (thrown) {
        log.warn({ turnId: turn.id, error: messageOf(thrown) }, "could not release a line about the queue");
      }
    },
    tellStopped() {
      const begun = stopped
        .begin()
        .catch((thrown: unknown) =>
          log.warn({ error: messageOf(thrown) }, "could not list requests that were stopped"),
        );
      listing = listing.then(() => begun);
    },
    async close() {
      closed.abort();
      clearTimeout(timer);
      await Promise.all([checking, listing]);
      await stopped.whenIdle();
      for (const { delivery, lease } of lines.values()) {
        await delivery.leave();
        await lease.release();
      }
      lines.clear();
    },
  };
}

function leaseOf(turnId: string): string {
  return `waiting:${turnId}`;
}
