/** Reserves what a call can use in all its limits, or in none of them, and says what holds a call back. */
import { toIsoDate } from "../lib/iso-date.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { type BudgetAsk, type Permit, type Reservation, tokensOf, type UsageRecord } from "../ports/usage.ts";
import {
  askFor,
  budgetLimit,
  declinedBy,
  emptyRecord,
  isAsked,
  judge,
  type Verdict,
  type Watched,
  withoutLapsed,
} from "./budgets.ts";
import { type Counter, damagedUsage, maxUsageTries } from "./counter.ts";
import { budgetOwner, busyText, earlierCallsText, restText, usedUpBudgetText, usedUpTokensText } from "./limit-text.ts";

export interface ReserverOptions {
  ledger: Ledger;
  counter: Counter;
  /** What Continue adds to a budget. */
  step: number;
  now(): number;
}

export type Reserved =
  | { type: "reserved"; asks: BudgetAsk[]; declined: string | undefined }
  /** If busy, running calls may leave something when they end. */
  | { type: "held-back"; permit: Exclude<Permit, { type: "admitted" }>; isBusy: boolean };

export interface Reserver {
  /** Without a turn for a call besides its steps. */
  reserveAll(turn: TurnRecord | undefined, all: readonly Watched[], reservation: Reservation): Promise<Reserved>;
  release(all: readonly Watched[], reservationId: string): Promise<void>;
}

/** Tokens reserved for a running call on a day without counts. */
const defaultCallTokens = 4_000;

export function createReserver({ ledger, counter, step, now }: ReserverOptions): Reserver {
  /** Reserves in one entry. Returns the record with or without the reservation. */
  async function reserve(
    watched: Watched,
    reservation: Reservation,
  ): Promise<{ verdict: Verdict; record: UsageRecord }> {
    for (let tries = 0; tries < maxUsageTries; tries++) {
      let seen: { verdict: Verdict; record: UsageRecord } | undefined;
      const change = (known: UsageRecord): UsageRecord | undefined => {
        const record = withoutLapsed(known, now(), reservation.isAside === true ? undefined : reservation.turnId);
        const verdict = judge(record, watched);
        seen = { verdict, record };
        if (verdict.type !== "fits") return undefined;
        const tokens = record.calls === 0 ? defaultCallTokens : Math.ceil(tokensOf(record) / record.calls);
        return { ...record, held: [...(record.held ?? []), { ...reservation, tokens }] };
      };
      const reserved = await ledger.transition("usage", watched.id, ["counted"], "counted", change);
      if (seen !== undefined && (reserved !== undefined || seen.verdict.type !== "fits")) return seen;
      if (reserved === undefined && (await ledger.get("usage", watched.id)) === undefined) {
        const record = emptyRecord(toIsoDate(now()));
        const verdict = judge(record, watched);
        if (verdict.type !== "fits") return { verdict, record };
        const body = { ...record, held: [{ ...reservation, tokens: defaultCallTokens }] };
        const isMade = await ledger.create("usage", watched.id, { state: "counted", body, group: watched.subject });
        if (isMade) return { verdict, record };
      }
    }
    throw damagedUsage(watched.id);
  }

  async function release(all: readonly Watched[], reservationId: string): Promise<void> {
    await counter.add(all.map(({ id, subject }) => ({ id, subject, releases: reservationId })));
  }

  /** Reserves in all entries or in none. */
  async function reserveAll(turn: TurnRecord | undefined, all: readonly Watched[], reservation: Reservation) {
    const asks: BudgetAsk[] = [];
    let declined: string | undefined;
    for (const [index, watched] of all.entries()) {
      const { verdict, record } = await reserve(watched, reservation);
      if (verdict.type !== "fits") {
        await release(all.slice(0, index), reservation.id);
        return {
          type: "held-back" as const,
          permit: heldBack(turn, watched, record, verdict),
          isBusy: verdict.type === "busy",
        };
      }
      const ask = askFor(record, watched, step, now());
      if (ask === undefined) continue;
      declined ??= declinedBy(record);
      if (declinedBy(record) === undefined && !isAsked(record)) asks.push(ask);
    }
    return { type: "reserved" as const, asks, declined };
  }

  function heldBack(
    turn: TurnRecord | undefined,
    watched: Watched,
    record: UsageRecord,
    verdict: Exclude<Verdict, { type: "fits" }>,
  ): Exclude<Permit, { type: "admitted" }> {
    const { tokens, dollars, name } = watched;
    const earlier = earlierCallsText(turn);
    if (verdict.of === "dollars" && dollars !== undefined) {
      const code = `usage.dollars.${dollars.kind}`;
      const limit = budgetLimit(dollars.limit, record);
      if (verdict.type === "busy")
        return {
          type: "refused",
          code,
          sentence: busyText("dollars", budgetOwner(dollars.kind, name), limit) + earlier,
        };
      const ask = askFor(record, watched, step, now());
      const by = declinedBy(record);
      if (ask !== undefined) {
        const sentence = usedUpBudgetText(ask, now());
        if (by === undefined) return { type: "asks", ask, code, sentence, done: earlier + restText(turn) };
        return {
          type: "refused",
          code,
          sentence: `${sentence} ${by} decided not to add to it.${earlier}${restText(turn)}`,
        };
      }
    }
    const { key, limit } = tokens ?? { key: "userTokensPerDay" as const, limit: 0 };
    const whose = key === "userTokensPerDay" ? name : "this channel";
    const sentence =
      verdict.type === "busy"
        ? busyText("tokens", whose, limit)
        : usedUpTokensText(whose, tokensOf(record), limit, now());
    return { type: "refused", code: `usage.${key}`, sentence: sentence + earlier };
  }

  return { reserveAll, release };
}
