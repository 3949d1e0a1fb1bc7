/**
 * Measures model use: calls, tokens, cost and Remora's own latency, by day (UTC), person, channel, conversation, model
 * and schedule. Holds calls within the limits on tokens and dollars.
 *
 *   admit   before a model call: reserves what the call can use in each of its limits
 *   count   after a model call: adds what it used, and releases the reservation in the same write
 *
 * Reservations are in the ledger, so all processes together exceed a limit by at most one call. If a process dies, its
 * reservation expires, or the turn's next process replaces it.
 */
import { randomUUID } from "node:crypto";
import { pause } from "../lib/backoff.ts";
import { messageOf } from "../lib/errors.ts";
import { toIsoDate } from "../lib/iso-date.ts";
import type { Log } from "../lib/log.ts";
import type { Ledger } from "../ports/ledger.ts";
import {
  type AdmittedCall,
  type BudgetAsk,
  type BudgetDecisions,
  type CountedCall,
  type ModelCall,
  type Permit,
  payerOf,
  type Reservation,
  type UsageLimits,
  type UsageMeter,
  type UsageRecord,
  usageSubject,
} from "../ports/usage.ts";
import { additionsOf, type Caller } from "./additions.ts";
import { createBudgetDecisions } from "./budget-decisions.ts";
import {
  askFor,
  budgetLimit,
  dailyId,
  declinedBy,
  emptyRecord,
  isAsked,
  type Watched,
  watchedFor,
  withoutBudget,
  withoutLapsed,
} from "./budgets.ts";
import { createResentCount } from "./cache-use.ts";
import { createCounter } from "./counter.ts";
import { countedCall, type Estimate, estimatedUse } from "./estimate.ts";
import { earlierCallsText, unpricedText } from "./limit-text.ts";
import { createOverview } from "./overview.ts";
import { costOf, createReportedCosts, isFree, type PriceOf } from "./prices.ts";
import { createReserver } from "./reserve.ts";

export interface UsageOptions {
  ledger: Ledger;
  priceOf: PriceOf;
  limits: UsageLimits;
  /** Whether the model's service reports what each call costs. A model of which it has done so once counts too. */
  reportsCost?(model: string): boolean;
  /** Bounds what one call can use. Absent: calls are not bounded by their cost. */
  estimate?: Estimate;
  log: Log;
  now?: () => number;
  busyWaitMs?: number;
}

const maxKeptMs = 62 * 86_400_000;
/** Longer than any call takes. */
const reservationMs = 15 * 60_000;
/** How long a call waits for running calls that may use up a limit. */
const defaultBusyWaitMs = 2 * 60_000;
const busyPollMs = 250;

export type BudgetedUsageMeter = UsageMeter & BudgetDecisions;

export function createUsageMeter(options: UsageOptions): BudgetedUsageMeter {
  const { ledger, priceOf, limits, log, now = Date.now, busyWaitMs = defaultBusyWaitMs } = options;
  const counter = createCounter(ledger, log);
  const { reserveAll, release } = createReserver({ ledger, counter, step: limits.dollars.step, now });
  const { step, unpriced } = limits.dollars;
  const reported = createReportedCosts(options.reportsCost);
  const countResent = createResentCount(now);
  const reservePriceOf: PriceOf = (model) => priceOf(model) ?? reported.reservePriceOf(model);

  function counted(call: ModelCall): CountedCall {
    reported.note(call.model, call.usage);
    return countedCall(call, priceOf, reported.learnedPriceOf);
  }

  function isFreeModel(model: string): boolean {
    const price = priceOf(model);
    return price !== undefined && isFree(price);
  }

  async function recordOf({ id }: Pick<Watched, "id">, turnId?: string): Promise<UsageRecord> {
    const entry = await ledger.get("usage", id);
    return withoutLapsed(entry?.body ?? emptyRecord(toIsoDate(now())), now(), turnId);
  }

  async function admitCaller(caller: Caller, signal?: AbortSignal): Promise<Permit> {
    const day = toIsoDate(now());
    const all = watchedFor(caller.payer, limits, day);
    if (all.length === 0) return admitted(caller, day, all, "");
    try {
      return await admitWithin(caller, day, all, signal);
    } catch (thrown) {
      // Without its record, a budget in dollars can't hold, so the call must not happen.
      if (all.some(({ dollars }) => dollars !== undefined)) throw thrown;
      log.error({ error: messageOf(thrown) }, "could not look up usage");
      return admitted(caller, day, [], "");
    }
  }

  async function admitWithin(
    caller: Caller,
    day: string,
    all: readonly Watched[],
    signal?: AbortSignal,
  ): Promise<Permit> {
    const { payer, turn, side } = caller;
    const hasBudget = all.some(({ dollars }) => dollars !== undefined);
    if (side?.model !== undefined) {
      const isFreeCall = hasBudget && isFreeModel(side.model);
      return await admitReserved(caller, day, isFreeCall ? all.flatMap(withoutBudget) : all, side.model, signal);
    }
    const model = await options.estimate?.modelOf(payer);
    const hasCost = model !== undefined && (priceOf(model) !== undefined || reported.isReported(model));
    if (hasBudget && unpriced === "refuse" && model !== undefined && !hasCost)
      return { type: "refused", code: "usage.unpriced", sentence: unpricedText(model) + earlierCallsText(turn) };
    if (hasBudget && model !== undefined && isFreeModel(model)) {
      const hasPaidFallback = options.estimate?.fallbacks().some((other) => !isFreeModel(other)) === true;
      const permit = hasPaidFallback ? await admitReserved(caller, day, all, model, signal) : undefined;
      if (permit?.type === "admitted") return permit;
      const free = await admitReserved(caller, day, all.flatMap(withoutBudget), model, signal);
      return hasPaidFallback && free.type === "admitted" ? { ...free, isWithoutFallback: true } : free;
    }
    return await admitReserved(caller, day, all, model, signal);
  }

  async function admitReserved(
    caller: Caller,
    day: string,
    all: readonly Watched[],
    model: string | undefined,
    signal?: AbortSignal,
  ): Promise<Permit> {
    const reservation: Reservation = {
      ...{ id: randomUUID(), turnId: caller.payer.turnId ?? "", tokens: 0 },
      ...(caller.side === undefined ? {} : { isAside: true }),
      ...mostUsed(caller, model),
      expiresAt: now() + reservationMs,
    };
    const until = performance.now() + (caller.side?.waits === false ? 0 : busyWaitMs);
    for (;;) {
      const reserved = await reserveAll(caller.turn, all, reservation);
      if (reserved.type === "reserved") {
        const { asks, declined } = reserved;
        const extra = declined === undefined ? {} : { declinedBy: declined };
        return { ...admitted(caller, day, all, reservation.id), asks, ...extra };
      }
      if (!reserved.isBusy || performance.now() >= until || signal?.aborted === true) return reserved.permit;
      await pause(busyPollMs, signal ?? new AbortController().signal);
    }
  }

  function mostUsed({ side }: Caller, model: string | undefined) {
    if (side?.model === undefined) return estimatedUse(options.estimate, model, reservePriceOf);
    const prompt = { inputTokens: side.promptTokens ?? 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const dollars = side.dollars ?? costOf(side.model, prompt, priceOf) ?? 0;
    return { dollars, promptTokens: 0, promptDollars: dollars };
  }

  function admitted(caller: Caller, day: string, held: readonly Watched[], reservationId: string): AdmittedCall {
    let isOver = false;
    return {
      type: "admitted",
      asks: [],
      count(call) {
        isOver = true;
        const result = counted(call);
        // Other calls than steps have prompts of their own, and estimates know nothing of a cache.
        const isStep = caller.turn !== undefined && result.usage === call.usage;
        const resent = isStep ? countResent(caller.payer.conversationId, call.model, result.usage) : undefined;
        const used = { ...call, ...result, day, ...(resent === undefined ? {} : { resent }) };
        return { ...result, written: counter.add(additionsOf(caller, used, held, reservationId)) };
      },
      async end() {
        if (!isOver && held.length > 0) await release(held, reservationId);
        isOver = true;
      },
    };
  }

  return {
    admit: (turn, signal) => admitCaller({ payer: payerOf(turn), turn }, signal),
    admitAside: (payer, side, signal) => admitCaller({ payer, side }, signal),
    async asks(turn) {
      const found: BudgetAsk[] = [];
      for (const watched of watchedFor(payerOf(turn), limits, toIsoDate(now()))) {
        if (watched.dollars === undefined) continue;
        const record = await recordOf(watched);
        const ask = askFor(record, watched, step, now());
        if (ask !== undefined && !isAsked(record) && declinedBy(record) === undefined) found.push(ask);
      }
      return found;
    },
    async record({ model, usage }) {
      const day = toIsoDate(now());
      const result = counted({ model, usage, addedMs: 0 });
      const more = {
        ...{ day, calls: 1, ...result.usage, addedMs: 0, cost: result.cost ?? 0 },
        unpricedCalls: result.cost === undefined ? 1 : 0,
      };
      const subjects = [usageSubject.model(model), usageSubject.everyone];
      await counter.add(subjects.map((subject) => ({ id: dailyId(day, subject), subject, more })));
    },
    async budgets(place) {
      const watched = watchedFor(place, limits, toIsoDate(now())).filter(({ dollars }) => dollars !== undefined);
      return await Promise.all(
        watched.map(async (one) => {
          const record = await recordOf(one);
          const { kind, limit } = one.dollars ?? { kind: "turn" as const, limit: 0 };
          const used = record.cost;
          return { kind, used, limit: budgetLimit(limit, record), added: budgetLimit(0, record) };
        }),
      );
    },
    ...createBudgetDecisions({ ledger, now }),
    async days(subject) {
      const entries = await ledger.list("usage", { group: subject });
      return entries
        .map((entry) => entry.body)
        .filter(({ calls }) => calls > 0)
        .sort((one, other) => (one.day < other.day ? 1 : -1));
    },
    overview: createOverview({ ledger, now }),
    async prune() {
      await ledger.prune("usage", ["counted"], now() - maxKeptMs);
    },
  };
}
